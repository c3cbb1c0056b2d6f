"""The page of `dovetail run --report`: one file with everything in it, a picture and a trace beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import hangs
import pytest
from made_trace import MadeTrace

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from dovetail.report_data import Run  # noqa: E402 (behind what may skip)
from dovetail.report_types import TaskType  # noqa: E402

PROGRAM = """
import sys, os
import dovetail as dt

@dt.task
def compute(i):
    return sum(range(100_000))

@dt.io(storage_bw=sys.argv[2], device=sys.argv[1])
def checkpoint(value, path):
    with open(path, "w") as file:
        file.write(str(value) * 1000)
        file.flush()
        os.fsync(file.fileno())

for i in range(12):
    checkpoint(compute(i), os.path.join(sys.argv[1], str(i)))
dt.barrier()
"""


def run(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dovetail.cli", "run", *map(str, words)]
    return hangs.run(command, timeout=100, **more)  # type: ignore[call-overload]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found |= {v for k, v in attributes if k in ("src", "href", "xlink:href") and v and not v.startswith("#")}


def test_page_picture_and_trace(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    folder.mkdir()
    (tmp_path / "dovetail.toml").write_text(
        f'[[device]]\nname = "disk"\npaths = ["{folder}"]\nwrite = 400\nread = 400\n'
    )
    program = tmp_path / "app.py"
    program.write_text(PROGRAM)
    page = tmp_path / "out.html"
    done = run("--report", page, program, folder, "auto(25,100,2)", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    document = json.loads((tmp_path / "out.trace.json").read_text())
    slices = [event["name"] for event in document["traceEvents"] if event["ph"] == "X"]
    assert slices.count("compute") == 12 and slices.count("checkpoint") == 12
    (device,) = document["otherData"]["admission"]["devices"]
    assert device["tasks"] == 12
    assert document["otherData"]["elsewhere"] is False

    assert (tmp_path / "out.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    text = page.read_text()
    links = Links()
    links.feed(text)
    assert links.found == {"out.png", "out.trace.json", "https://ui.perfetto.dev"}
    for words in (
        "I/O hidden",
        "Where the time went",
        "Throughput of disk",
        "checkpoint: auto(25,100,2) on disk",
        "Timeline",
    ):
        assert words in text, words
    assert re.search(r"<td>checkpoint</td><td>I/O threads</td><td>12</td>", text)
    assert re.search(r"<td>compute</td><td>workers</td><td>12</td>", text)
    pictures = text.count("<svg") - text.count('<svg class="distribution"')
    assert pictures == 3  # split, throughput, constraint
    assert text.count('<svg class="distribution"') == 2


def test_a_program_without_tasks_has_nothing_to_report(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text("import dovetail")
    done = run("--report", tmp_path / "out.html", program)
    assert done.returncode == 0
    assert "nothing to report" in done.stderr
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("name", ["out.pdf", "no/such/folder/out.html"])
def test_a_report_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path: Path, name: str) -> None:
    program = tmp_path / "app.py"
    program.write_text("print('ran')")
    done = run("--report", name, program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in done.stderr


@pytest.mark.parametrize("name", ["out.html", "out.png", "out.trace.json"])
def test_a_pipe_is_no_report(tmp_path: Path, name: str) -> None:
    program = tmp_path / "app.py"
    program.write_text("import dovetail as dt\ndt.task(print)('ran').result()")
    os.mkfifo(tmp_path / name)
    done = run("--report", "out.html", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in done.stderr
    assert "regular file" in done.stderr


@pytest.mark.parametrize("name", ["out.html", "out.png", "out.trace.json"])
def test_a_report_follows_no_link(tmp_path: Path, name: str) -> None:
    kept = tmp_path / "kept"
    kept.write_text("of somebody else")
    program = tmp_path / "app.py"
    program.write_text("import dovetail as dt\ndt.task(print)('ran').result()")
    (tmp_path / name).symlink_to(kept)
    done = run("--report", "out.html", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name} is there and is no regular file" in done.stderr
    # One that is put there while the program runs is not followed either.
    (tmp_path / name).unlink()
    program.write_text(f"import os\nimport dovetail as dt\ndt.task(os.symlink)('kept', {name!r}).result()")
    done = run("--report", "out.html", program, cwd=tmp_path)
    assert done.returncode == 1
    assert "it is a symbolic link" in done.stderr
    assert "Traceback" not in done.stderr
    assert kept.read_text() == "of somebody else"


ELSEWHERE = {
    "process": "dt.task(process=True)(len)('word').result()",
    "async": "async def wait():\n    return 1\ndt.task(wait)().result()",
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_trace_says_that_tasks_went_on_elsewhere(tmp_path: Path, where: str) -> None:
    program = tmp_path / "app.py"
    program.write_text(f"import dovetail as dt\n{ELSEWHERE[where]}\n")
    done = run("--report", tmp_path / "out.html", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.trace.json").read_text())["otherData"]["elsewhere"] is True
    assert "only what starts them is shown" in (tmp_path / "out.html").read_text()


WAITS = """
import os
import time
import dovetail as dt

begun = []
ends = os.pipe()

@dt.task
def holds():
    while not begun:
        pass

@dt.task
def waits():
    begun.append(1)

@dt.task
def blocks():
    begun.append(2)
    return os.read(ends[0], 1)

@dt.task
def load(field):
    raise ValueError(f"no field {field}")

@dt.task
def use(data):
    raise AssertionError("it ran")

with dt.Runtime(workers=2):
    first, second = holds(), waits()
    first.result(), second.result()
    blocked = blocks()
    while 2 not in begun:
        pass
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    os.write(ends[1], b"x")
    assert blocked.result() == b"x"
    for future in [use(load("height"))]:
        try:
            future.result()
        except Exception:
            pass
"""


def test_waits_blocked_tasks_and_reasons_are_named(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(WAITS)
    done = run("--report", tmp_path / "out.html", program, cwd=tmp_path)
    page = (tmp_path / "out.html").read_text()
    events = json.loads((tmp_path / "out.trace.json").read_text())["traceEvents"]
    assert any(event.get("cat") == "wait" and event["name"] == "waits for the interpreter" for event in events)
    assert "of workers waiting for the interpreter" in page
    (blocks,) = (event for event in events if event["ph"] == "X" and event["name"] == "blocks")
    assert blocks["args"]["processor_us"] < blocks["dur"] / 2
    failures = {event["name"]: event["args"]["reason"] for event in events if event.get("cat") == "failure"}
    assert "no field height" in failures["failed: load"], done.stderr
    assert "cancelled because task 'load' failed" in failures["failed: use"]
    assert "no field height" in page and "2 failures" in page


def test_time_that_is_hidden() -> None:
    from dovetail.report_data import read

    def slice_of(pid: int, tid: int, name: str, begin: float, end: float, category: str = "task") -> dict[str, object]:
        return {
            "ph": "X",
            "pid": pid,
            "tid": tid,
            "cat": category,
            "name": name,
            "ts": begin * 1e6,
            "dur": (end - begin) * 1e6,
        }

    def name_of(pid: int, tid: int, name: str) -> dict[str, object]:
        return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}, "ts": 0}

    events = [
        name_of(1, 1, "worker 0"),
        name_of(1, 2, "worker 1"),
        name_of(1, 3, "I/O executor 0"),
        slice_of(1, 1, "sum 1", 0, 4),
        slice_of(1, 1, "idle", 4, 10, "idle"),
        slice_of(1, 2, "sum 2", 3, 5),
        slice_of(1, 3, "write", 4, 7),
        slice_of(2, 100_001, "pread", 1, 2, "io"),
    ]
    events[3]["args"] = {"processor_us": 1.5e6}
    events.append(slice_of(1, 1, "waits for the interpreter", 2, 3, "wait"))
    facts = {
        "total_s": 12,
        "workers": 2,
        "compute_s": 1.75,
        "blocked_s": 1.25,
        "computing_s": 4,
        "io_s": 4,
        "hidden_s": 2,
        "communication_s": 3,
        "communication_hidden_s": 1,
    }
    run_ = read({"traceEvents": events, "otherData": facts}, {"devices": []})
    assert (run_.computing, run_.io, run_.hidden, run_.computed, run_.blocked) == (4, 4, 2, 1.75, 1.25)
    assert (run_.communication, run_.communication_hidden) == (3, 1)
    assert run_.neither == pytest.approx(12 - 6)
    assert run_.waits == {"the interpreter": 0.5}
    assert run_.kinds["sum"]["blocked"] == pytest.approx(2.5)
    assert run_.kinds["sum"]["slices"] == 2 and run_.kinds["write"]["io"]


def test_each_rank_has_lanes_of_its_own_numbers() -> None:
    """Those of rank 2 are 7 to 9; messages are no lanes of the page."""
    from dovetail.report_data import read

    events = [
        {"ph": "X", "pid": 7, "tid": 2_000_001, "ts": 0, "dur": 5, "cat": "task", "name": "sum", "args": {}},
        {"ph": "X", "pid": 8, "tid": 2_100_001, "ts": 0, "dur": 5, "cat": "io", "name": "pread", "args": {}},
        {"ph": "X", "pid": 9, "tid": 2_500_001, "ts": 0, "dur": 5, "cat": "message", "name": "MPI_Recv", "args": {}},
        {"ph": "M", "pid": 7, "tid": 2_000_001, "ts": 0, "name": "thread_name", "args": {"name": "worker 0"}},
    ]
    run_ = read({"traceEvents": events, "otherData": {}}, {"devices": []})
    assert [lane.name for lane in run_.lanes] == ["worker 0"] and len(run_.requests) == 1
    assert list(run_.kinds) == ["sum"]


def page_of(run_: Run, title: str = "a", **links: str) -> str:
    """The page of a run that has no events."""
    from dovetail.report_columns import Columns
    from dovetail.report_figures import Drawn
    from dovetail.report_graph import Graph
    from dovetail.report_page import compose
    from dovetail.report_view import View

    drawn = Drawn(split="<svg>split</svg>")
    types = [
        TaskType(name, told["io"], told["slices"], 1.0, 1.0, 1.0, 1.0, told["blocked"], 0.0)
        for name, told in run_.kinds.items()
    ]
    return compose([View(title, run_, Columns(), Graph(), types, drawn, "Use <em>less</em>.")], title, links)


def test_communication_has_a_row_of_the_overlap_where_there_is_some() -> None:
    run_ = Run(4.0, [], [], {}, [], io=1.0, hidden=0.25)
    row = "<td>communication</td>"
    assert row not in page_of(run_)
    run_.communication, run_.communication_hidden = 2.0, 1.5
    page = page_of(run_)
    assert row + "<td>2.000</td><td>1.500</td><td>0.500</td><td>75 %</td>" in page
    assert "<td>I/O</td><td>1.000</td><td>0.250</td><td>0.750</td><td>25 %</td>" in page


def test_names_of_the_program_are_text_on_the_page() -> None:
    kinds = {"<u>": {"slices": 1, "seconds": 1.0, "io": False, "blocked": 0.5}}
    run_ = Run(2.0, [], [], {"lost_events": 3}, [], failures=["<b>why</b>"], kinds=kinds, waits={"<i>": 1.0})
    page = page_of(run_, "a & b", trace='it"s.json', picture="it's.png")
    for tag in ("<b>why", "<em>", "<u>"):
        assert tag not in page, tag
    assert "<td>&lt;u&gt;</td><td>workers</td><td>1</td>" in page
    assert "<li>&lt;b&gt;why&lt;/b&gt;</li>" in page
    assert "<b>50 %</b>of workers waiting for &lt;i&gt;" in page
    assert "<title>a &amp; b</title>" in page
    assert "<svg>split</svg>" in page
    assert "lost 3 older events" in page
    links = Links()
    links.feed(page)
    assert links.found == {'it"s.json', "it's.png", "https://ui.perfetto.dev"}


def test_throughput_is_a_mean_over_stretches_that_are_long_enough() -> None:
    from dovetail.report_figures import smoothed

    # A task of 10 MB ends in every fifth interval of 50 ms, but for a while in which none does.
    points = [{"seconds": 0.25 * k, "mb_per_second": 200.0, "running": 20.0} for k in range(40)]
    points.append({"seconds": 9.8, "mb_per_second": 0.0, "running": 0.0})
    means = smoothed(points)
    assert len(means) <= 61
    for mean in means[1:-3]:
        assert 20 <= mean["mb_per_second"] <= 61
        assert 2 <= mean["running"] <= 6.1
    total = sum((b["seconds"] - a["seconds"]) * a["mb_per_second"] for a, b in zip(means, means[1:], strict=False))
    assert total == pytest.approx(40 * 10)


_DEEP = "[" * 100_000
_NO_TRACES = [
    "", "{}", "[]", '{"traceEvents": 3}', '{"traceEvents": [{"ph": "X"}]}', "\x00\xff", _DEEP,
    '{"traceEvents": [], "otherData": {"memory": 3}}',
]  # fmt: skip


@pytest.mark.parametrize("text", _NO_TRACES, ids=range(len(_NO_TRACES)))
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    from dovetail import report_trace, report_view

    (tmp_path / "bad.json").write_text(text, encoding="latin-1")
    with pytest.raises(report_trace.UnusableTrace, match=r"bad\.json is no trace of Dovetail"):
        report_view.read(tmp_path / "bad.json", "bad")


def test_a_link_is_a_url(tmp_path: Path) -> None:
    from dovetail.report import write_of_traces

    trace = MadeTrace(1, total_s=1).write(tmp_path / "javascript:50% of #1?.json")
    write_of_traces([trace], tmp_path / "out.html")
    links = Links()
    links.feed((tmp_path / "out.html").read_text())
    assert "javascript%3A50%25%20of%20%231%3F.json" in links.found


def test_a_page_holds_any_number_of_task_types() -> None:
    import base64
    import zlib

    import numpy as np
    from dovetail.report_columns import Columns
    from dovetail.report_graph import Graph
    from dovetail.report_packing import PackedRun, pack

    kinds = ["".join(chr(97 + int(digit, 16)) for digit in f"{number:05x}") for number in range(66_000)]
    columns = Columns()
    for name in [*kinds, "pread"]:
        columns.names.number_of(name)
    raw = zlib.decompress(base64.b64decode(pack([PackedRun("a", 1, 1, columns, Graph(), kinds)])))
    size = int.from_bytes(raw[:4], "little")
    (run_,) = json.loads(raw[4 : 4 + size])["runs"]
    place = run_["kindOfName"]
    numbers = np.frombuffer(raw, "<" + place["type"], place["count"], 4 + size + place["at"])
    assert list(numbers) == list(range(66_001))


def test_the_critical_path_in_words(tmp_path: Path) -> None:
    from dovetail import report_page, report_view

    def told(trace: MadeTrace) -> str:
        return report_page._path(report_view.read(trace.write(tmp_path / "a.json"), "a"))

    trace = MadeTrace(2, total_s=10)
    assert told(trace).startswith("The trace has no dependencies")
    trace.task(0, "a", 0, 6)
    assert "DOVETAIL_TRACE_ACCESSES=1" in told(trace)
    trace.task(0, "a", 0, 6, "out 'memory' [0, 8)")
    assert told(trace).startswith("The trace has no dependencies")
    trace.task(1, "b", 0, 2, "out 'memory' [8, 16)")
    trace.task(1, "c", 2, 3, "in 'memory' [8, 16)")
    assert "one task, which waits for none. By type" in told(trace)
    trace.task(1, "d", 6, 9, "in 'memory' [0, 8)")
    assert "2 tasks, each of which waits for the one before. By type" in told(trace)
    trace.facts["ranks"] = [{"workers": 2, "total_s": 10}] * 2
    assert told(trace).endswith("It is of one rank, and follows no message.")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_an_error_of_a_file_names_it(tmp_path: Path, kind: str) -> None:
    from dovetail.plain_file import open_to_read

    path = tmp_path / "odd.json"
    if kind == "link":
        path.symlink_to(tmp_path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(OSError, match="it is ") as raised:
        open_to_read(path)
    assert raised.value.filename == str(path)


@pytest.mark.parametrize(
    "words, told",
    [
        (["bad.json"], "bad.json is no trace of Dovetail"),
        (["none.json"], "none.json: No such file"),
        (["link.json"], "link.json: it is a symbolic link"),
        (["a", "b", "c"], "3 traces were given"),
        (["bad.json", "-o", "page.txt"], "must end with .html"),
    ],
)
def test_the_command_refuses_what_it_cannot_show(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "bad.json").write_text("no JSON")
    (tmp_path / "link.json").symlink_to("bad.json")
    done = hangs.run([sys.executable, "-m", "dovetail.cli", "report", *words], timeout=100, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert told in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_trace_that_stays_in_its_place_is_kept_whole(tmp_path: Path) -> None:
    """As under the HDF5 connector."""
    from dovetail.report_trace import copy

    trace = MadeTrace(1, begin_ns=1000)
    for number in range(5000):  # more than is read at a time
        trace.task(0, "sum", number, number + 1)
    path = trace.write(tmp_path / "out.trace.json")
    copy(path, path, {"admission": {"devices": []}}, lambda begin: [(begin, 8)])
    document = json.loads(path.read_text())
    assert document["traceEvents"] == trace.events
    assert document["otherData"] == {**trace.facts, "admission": {"devices": []}, "memory": [[1000, 8]]}


def test_memory_is_sampled_less_often_in_long_programs() -> None:
    from dovetail.report_memory import Memory

    memory = Memory()
    for second in range(5000):
        memory._keep(second, second)
    assert len(memory.samples) < 1000
    assert memory.samples == sorted(memory.samples) and memory.samples[0] == (0, 0)
    assert memory.samples[-1][0] > 4500
    assert memory.since(4000)[0] == (0, max(size for now, size in memory.samples if now <= 4000))
