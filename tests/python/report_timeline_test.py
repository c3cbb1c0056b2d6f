"""The page of a report as a browser shows it: what is drawn, told under the mouse, folded and chosen. A picture of each page is kept in
DOVETAIL_TEST_PICTURES, if that is set."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import hangs
import pytest
from made_trace import MadeTrace

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
if browser.executable() is None:
    pytest.skip("the page is looked at with Chromium, which is not installed", allow_module_level=True)

from dovetail import report  # noqa: E402 (behind what may skip)

HOSTILE = "</script><script>window.stolen = 1</script> \"'`${1} ]]> &amp; \u2028 \U0001f600 \ud800"


class Shown:
    """A page that is open. Places are of the window, in pixels."""

    def __init__(self, page: browser.Page) -> None:
        self.page = page
        page.value("report.ready.then(made => { window.timeline = made; })")

    def value(self, expression: str) -> Any:
        return self.page.value(expression)

    def drawn(self) -> None:
        """Once it is."""
        self.page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def place(self, lane: str, seconds: float) -> tuple[float, float]:
        """Of this time on the lane or title whose name begins so."""
        x, y = self.value(
            f"""(() => {{
              const strip = timeline.strips.find(one => (one.lane ? one.lane.name : one.group ? one.group.title : one.title).startsWith({lane!r}));
              timeline.canvas.scrollIntoView({{block: "center"}});
              const box = timeline.canvas.getBoundingClientRect();
              return [box.left + timeline.xOf({seconds} * 1e9), box.top + strip.y + strip.height / 2];
            }})()"""
        )
        return float(x), float(y)

    def color(self, lane: str, seconds: float, down: int) -> str:
        """Of the canvas, so many pixels below the lane's upper edge."""
        return str(self.value(
            f"""(() => {{
              const strip = timeline.strips.find(one => one.lane && one.lane.name === {lane!r});
              const copy = Object.assign(document.createElement("canvas"), {{width: 1, height: 1}}).getContext("2d", {{willReadFrequently: true}});
              copy.drawImage(timeline.canvas, timeline.xOf({seconds} * 1e9), strip.y + {down}, 1, 1, 0, 0, 1, 1);
              return Array.from(copy.getImageData(0, 0, 1, 1).data).slice(0, 3).map(part => part.toString(16).padStart(2, "0")).join("");
            }})()"""
        ))  # fmt: skip

    def tip(self) -> str:
        return str(self.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText"))

    def chosen(self) -> str:
        return str(self.value("document.getElementById('chosen').innerText"))

    def lanes(self) -> list[str]:
        return list(self.value("timeline.strips.filter(one => one.lane).map(one => one.lane.name)"))


@contextlib.contextmanager
def shown(path: Path) -> Iterator[Shown]:
    with browser.opened() as page:
        page.open(path)
        yield Shown(page)
        picture = path.with_suffix(".screen.png")
        page.picture(picture)
        assert picture.stat().st_size > 10_000
        if kept := os.environ.get("DOVETAIL_TEST_PICTURES"):
            shutil.copy(picture, Path(kept) / f"report-{path.stem}.png")
        assert page.complaints == []


def made_run(label: str = "sum", scale: float = 1.0) -> MadeTrace:
    """Two workers, an executor, requests and messages, for 10 seconds."""
    trace = MadeTrace(2, total_s=10 * scale, compute_s=4.0, computing_s=6.0, io_s=5.0, hidden_s=2.0, blocked_s=1.0)
    trace.task(0, f"{label} 1", 0, 2 * scale, "out 'memory' [0, 8000000)", processor_us=1.9e6)
    trace.task(1, f"{label} 2", 0.5, 1.5)
    trace.task(
        0,
        f"{label} 3",
        2.5 * scale,
        6 * scale,
        "in 'memory' [0, 8000000), out 'memory' [8, 16)",
        waited_for_accesses_us=2e6,
        ready_for_us=0.5e6,
    )
    trace.task(1, "reduce", 7 * scale, 9.5 * scale, "in 'memory' [8, 16)", paused_for="fsync of result.dat")
    trace.wait(0, 0.5, 1.0)
    trace.io_task(0, "checkpoint", 3, 8)
    for lane in range(12):
        trace.request(
            lane,
            "pwrite",
            4 + lane / 10,
            6,
            file="/data/out.bin",
            offset=4096 * lane,
            bytes=1 << 20,
            submitted_on="worker 0",
        )
    trace.message("MPI_Recv", 1, 3, task_name="reduce", peer=3, bytes=800)
    return trace


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    report.write_of_traces([made_run().write(folder / "made.json")], folder / "made.html")
    return folder / "made.html"


def test_all_tasks_are_drawn_workers_first_and_requests_folded(page: Path) -> None:
    with shown(page) as it:
        assert it.value("timeline.runs[0].tasks") == 5
        assert it.lanes() == ["worker 0", "worker 1", "I/O executor 0"]
        # 5 tasks, a wait of a worker in its lane, and in the strips above and below: that wait, 12 requests and a message.
        assert it.value("timeline.drawn") == 5 + 1 + 1 + 12 + 1
        x, y = it.place("I/O in flight", 0)
        it.page.click(x - 100, y)
        it.drawn()
        assert len([lane for lane in it.lanes() if lane.startswith("request")]) == 12
        assert it.value("timeline.strips[timeline.strips.length - 1].y > 300")
        x, y = it.place("I/O in flight", 0)
        it.page.click(x - 100, y)
        it.drawn()
        assert len(it.lanes()) == 3
        assert it.color("worker 0", 1, 6) == "009e73" and it.color("worker 1", 8, 6) == "e69f00"
        assert it.color("worker 1", 5, 6) == "f2f4f7"


def test_the_mouse_is_told_what_is_below_it(page: Path) -> None:
    with shown(page) as it:
        it.page.mouse("mouseMoved", *it.place("worker 0", 4))
        tip = it.tip()
        for words in ("sum 3", "starts at: 2.500 s", "length: 3.500 s", "waited for other tasks: 2.000 s", "waited for a worker: 500.0 ms",
                      "reads 1 region of memory (8 MB), writes 1 region of memory (8 B)"):  # fmt: skip
            assert words in tip, (words, tip)
        it.page.mouse("mouseMoved", *it.place("worker 1", 9))
        assert "then paused, for: fsync of result.dat" in it.tip()
        it.page.mouse("mouseMoved", *it.place("worker 1", 5))
        assert it.tip() == ""
        x, y = it.place("I/O in flight", 5)
        it.page.mouse("mouseMoved", x, y)
        assert "at 5.000 s: 11" in it.tip()
        it.page.click(x - 400, y)
        it.drawn()
        it.page.mouse("mouseMoved", *it.place("request 3", 5))
        for words in ("pwrite", "file: /data/out.bin", "from byte: 8192", "size: 1.049 MB"):
            assert words in it.tip(), (words, it.tip())
        it.page.mouse("mouseMoved", *it.place("messages", 2))
        assert "at 2.000 s: 1" in it.tip()
        # Beside the strip there is no time.
        x, y = it.place("messages", 0)
        it.page.mouse("mouseMoved", x - 100, y)
        assert it.tip() == ""


def test_numbers_are_written_out_and_times_told_apart(page: Path) -> None:
    with shown(page) as it:
        assert it.value("[duration(12345e9), duration(1.5e6), size(123456e9), number(0.5)]") == [
            "12345 s", "1.500 ms", "123456 GB", "0.5000"
        ]  # fmt: skip
        assert it.value("[moment(1234567e6, 1e6), moment(1234e9, 1e12), moment(0, 1), moment(2.5e9, 1e7)]") == [
            "1234.567 s", "1234 s", "0 ns", "2.500 s"
        ]  # fmt: skip


def test_a_chosen_task_shows_its_dependencies_and_the_critical_path_is_marked(page: Path) -> None:
    with shown(page) as it:
        it.page.click(*it.place("worker 0", 4))
        told = it.chosen()
        assert "depends on 1 task: sum 1 at 0 ns" in told.replace("\n", " ") and "is needed by 1 task: reduce" in told
        it.value("document.querySelector('#chosen button').click()")
        assert "sum 1 on worker 0" in it.chosen()
        assert it.color("worker 0", 4, 2) != "000000"
        it.value("document.getElementById('path').click()")
        it.drawn()
        assert it.color("worker 0", 4, 2) == "000000" and it.color("worker 1", 8, 2) == "000000"
        assert it.color("worker 1", 1, 2) != "000000"
        assert it.value("Array.from(timeline.runs[0].path).join()") == "0,2,3"
        text = it.value("document.body.innerText")
        assert "The critical path is 8.000 s long, 80 % of the run: 3 tasks" in text
        assert "69 % sum, 31 % reduce" in text


def test_wheel_drag_and_keys_move_the_view(page: Path) -> None:
    with shown(page) as it:
        x, y = it.place("worker 0", 4)
        it.page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        left, right = it.value("timeline.view.map(time => time / 1e9)")
        assert right - left == pytest.approx(10 / 2.71828, rel=0.02)
        assert it.place("worker 0", 4)[0] == pytest.approx(x, abs=1)  # stays below the mouse
        it.page.mouse("mousePressed", x, y, button="left", clickCount=1)
        it.page.mouse("mouseMoved", x - 100, y, button="left", buttons=1)
        it.page.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
        assert it.place("worker 0", 4)[0] == pytest.approx(x - 100, abs=1)
        it.value("timeline.canvas.focus()")
        it.page.call("Input.dispatchKeyEvent", type="keyDown", key="f")
        assert it.value("timeline.view[0]") == 0 and it.value("timeline.view[1]") == 10e9


def test_labels_of_the_program_cannot_become_part_of_the_page(tmp_path: Path) -> None:
    trace = made_run(HOSTILE)
    trace.events[-1]["args"]["file"] = HOSTILE
    report.write_of_traces([trace.write(tmp_path / "hostile.json")], tmp_path / "hostile.html")
    with shown(tmp_path / "hostile.html") as it:
        assert it.value("window.stolen === undefined")
        it.page.click(*it.place("worker 0", 4))
        it.page.mouse("mouseMoved", *it.place("worker 0", 4.1))
        assert "</script><script>window.stolen = 1</script> \"'`${1} ]]> &amp;" in it.tip()
        assert "</script>" in it.chosen()
        assert it.value("document.scripts.length") == 2  # those of the page; what it had packed is unpacked


def test_two_runs_are_beside_each_other(tmp_path: Path) -> None:
    traces = [made_run().write(tmp_path / "before.json"), made_run(scale=0.5).write(tmp_path / "after.json")]
    report.write_of_traces(traces, tmp_path / "both.html")
    with shown(tmp_path / "both.html") as it:
        assert it.lanes().count("worker 0") == 2
        assert it.value("timeline.view[1]") == 10e9  # the same axis for both
        rows = it.value(
            "Array.from(document.querySelectorAll('tr')).map(row => Array.from(row.cells).map(cell => cell.innerText).join('|'))"
        )
        assert "total, s|10|8|0.80" in rows  # the I/O task of the second ends at 8 s
        assert any(row.startswith("reduce|1|2.500|2500.000|1|1.250|1250.000|0.50") for row in rows)


def test_a_run_of_the_runtime(tmp_path: Path) -> None:
    """A program that reads, writes and depends, as `dovetail run --report` shows it."""
    program = tmp_path / "app.py"
    program.write_text(
        "import dovetail as dt\n@dt.task\ndef make(n):\n    return n\n@dt.task\ndef add(a, b):\n    return a + b\n"
        "last = make(0)\nfor n in range(1, 40):\n    last = add(last, make(n))\nassert last.result() == 780\n"
    )
    command = [sys.executable, "-m", "dovetail.cli", "run", "--report", str(tmp_path / "run.html"), str(program)]
    done = hangs.run(command, timeout=100)
    assert done.returncode == 0, done.stderr
    with shown(tmp_path / "run.html") as it:
        assert it.value("timeline.runs[0].tasks") == 79
        assert it.value("timeline.runs[0].edges.to.length") == 78
        (memory,) = it.value("timeline.runs[0].counters.map(one => [one.name, Math.max(...one.value)])")
        assert memory[0] == "memory of the program, MB" and 5 < memory[1] < 10_000
        # It ends with the last sum, and each sum of it waits for the one before.
        names = it.value(
            "Array.from(timeline.runs[0].path).map(task => timeline.runs[0].names[timeline.runs[0].rows.task.name[timeline.runs[0].first[task + 1]]])"
        )
        assert names[-1] == "add" and set(names[1:]) == {"add"}


def test_ranks_plans_and_cut_traces_are_shown(tmp_path: Path) -> None:
    """A joined trace has three processes for each rank. That of a program under a plan has one for each file, without categories or facts."""
    joined = made_run()
    other = [{**event, "pid": event["pid"] + 3, "tid": event["tid"] + 1_000_000} for event in joined.events]
    for event in other:
        if event["name"] == "process_name":
            event["args"] = {"name": f"rank 1: {event['args']['name']}"}
    facts = {**joined.facts, "total_s": 9.0}
    joined.events += other
    joined.facts = {"producer": "dovetail", "ranks": [joined.facts, facts], "arrows": 0, "missing": [], "clocks": []}
    reads = [
        {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": "/data/in.bin"}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "reads", "ts": 0.0, "dur": 5.0, "args": {"offset": 0, "bytes": 4096, "process": 7, "waited_us": 3}},
        {"ph": "X", "pid": 1, "tid": 1_000_001, "name": "asked for ahead", "ts": 1.0, "dur": 2.0, "args": {"offset": 4096, "bytes": 4096, "process": 7}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "reads"}},
    ]  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps({"displayTimeUnit": "ms", "traceEvents": reads}))
    cut = joined.write(tmp_path / "joined.json").read_text()
    (tmp_path / "cut.json").write_text(cut[: len(cut) // 2])
    told = {}
    for name in ("joined", "plan", "cut"):
        report.write_of_traces([tmp_path / f"{name}.json"], tmp_path / f"{name}.html")
        with shown(tmp_path / f"{name}.html") as it:
            told[name] = [
                it.value("timeline.runs[0].tasks"),
                it.value("timeline.runs[0].groups.map(one => one.title + one.lanes.length)"),
            ]
            if name == "joined":
                assert it.value("timeline.runs[0].workers") == 4 and "2 ranks: these times are means" in it.value(
                    "document.body.innerText"
                )
    threads = ["workers2", "rank 1: workers2", "other threads1", "rank 1: other threads1"]
    requests = [f"{rank}{what}" for rank in ("", "rank 1: ") for what in ("I/O in flight12", "messages outstanding1")]
    assert told["joined"] == [10, threads + requests]
    assert told["plan"] == [0, ["/data/in.bin2"]]
    assert 4 <= told["cut"][0] < 10


def test_below_the_mouse_is_the_innermost_slice(tmp_path: Path) -> None:
    """A task that waits for its children runs them meanwhile."""
    trace = MadeTrace(1, total_s=10)
    trace.task(0, "child", 2, 3)
    trace.task(0, "parent", 0, 10)
    report.write_of_traces([trace.write(tmp_path / "nested.json")], tmp_path / "nested.html")
    with shown(tmp_path / "nested.html") as it:
        for seconds, name in ((2.5, "child"), (5, "parent")):
            it.page.mouse("mouseMoved", *it.place("worker 0", seconds))
            assert it.tip().startswith(name)
