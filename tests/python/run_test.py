"""`dovetail run`, and programs for PyCOMPSs that it runs as they are."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import hangs
import pytest

PROGRAMS = Path(__file__).parent / "pycompss_programs"
LIMIT = 100


def run(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dovetail.cli", "run", *map(str, words)]
    return hangs.run(command, timeout=LIMIT, **more)  # type: ignore[call-overload]


@pytest.fixture
def script(tmp_path: Path):
    def make(text: str) -> Path:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    return make


def pycompss(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run("--pycompss", PROGRAMS / name, *arguments)


def output_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_is_main_and_gets_its_own_arguments(script):
    path = script("""
        import sys
        import dovetail as dt

        @dt.task
        def late():
            print("task", NAME)

        NAME = __name__
        print(sys.argv[1:], __file__ == sys.argv[0])
        late()
    """)
    lines = output_of(run(path, "--report", "x", "-h"))
    assert lines == ["['--report', 'x', '-h'] True", "task __main__"]


@pytest.mark.parametrize(
    ("text", "status"), [("import sys; sys.exit(7)", 7), ("import sys; sys.exit('why')", 1), ("", 0), ("1 +", 1)]
)
def test_the_exit_status_is_the_programs(script, text, status):
    assert run(script(text)).returncode == status


def test_a_failure_nobody_asked_for_is_shown_and_fails_the_run(script):
    done = run(
        script("""
        import dovetail as dt

        @dt.task
        def bad():
            raise ValueError("of the user")

        bad()
        print("last")
    """)
    )
    assert done.returncode == 1
    assert done.stdout == "last\n"
    assert "ValueError: of the user" in done.stderr


def test_a_program_has_no_future_features_but_its_own(script):
    done = run(script("def f(x: int): pass\nprint(f.__annotations__)"))
    assert done.stdout == "{'x': <class 'int'>}\n", done.stderr


def test_tracebacks_show_frames_of_the_user_only(script):
    path = script("""
        import dovetail as dt

        @dt.task
        def inner(x):
            return 1 // x

        dt.wait([inner(1), inner(0)])
    """)
    done = run(path)
    assert done.returncode == 1
    assert "return 1 // x" in done.stderr and "dt.wait(" in done.stderr
    assert set(re.findall(r'File "([^"]+)"', done.stderr)) == {str(path)}


@pytest.mark.parametrize("words", [("nothing.py",), ("--bogus", "x.py"), (".",), ()])
def test_bad_usage_is_status_2(words, tmp_path):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr


def test_ctrl_c_is_status_130(script):
    path = script("""
        import time
        import dovetail as dt

        @dt.io
        def wait_long():
            for _ in range(600):
                if dt.cancelled():
                    return
                time.sleep(0.1)

        x = [wait_long() for _ in range(3)]
        print("ready", flush=True)
        dt.wait(x)
    """)
    command = [sys.executable, "-m", "dovetail.cli", "run", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        hangs.finish(process, LIMIT)
    assert process.returncode == 130


def test_wordcount(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b a c\n d a b e")
    assert output_of(pycompss("wordcount.py", text, 2)) == ["a 3", "b 2", "c 1", "d 1", "e 1"]


def test_matrices_of_blocks_changed_in_place():
    assert output_of(pycompss("matmul.py", 3, 32)) == ["equal True (96, 96)"]


def test_files_and_folders(tmp_path):
    assert output_of(pycompss("files.py", tmp_path)) == [
        r"'begin 2\n012'",
        "[44, 44]",
        r"'begin 1\n012'",
        r"True 'begin 0\n012!?'",
        "[True, True, True, False] False",
        "['0', '1', '2']",
        "True ['0', '1']",
    ]


def test_collections_dictionaries_methods_and_several_results():
    assert output_of(pycompss("collections_and_objects.py")) == [
        "65 25 30",
        "[0, 10, 25, 30]",
        "[[3, 4], [5, 6]]",
        "2 ['a', 'b'] [0, 1]",
        "[0, 1, 2, 3, 4, 5] True",
        "14 8 16",
        "49 [3, 7] [1, 5]",
    ]


def test_names_that_are_seldom_used(tmp_path):
    environment = {**os.environ, "UNITS": "4", "RESULTS": "2"}
    assert output_of(run("--pycompss", PROGRAMS / "covered.py", tmp_path, env=environment)) == [
        "OUT [1, 2, 3]",
        "FILE text",
        "FILE_COMMUTATIVE 0123",
        "FILE_CONCURRENT 0123",
        "DIRECTORY_INOUT ['one', 'two']",
        "COLLECTION_FILE ['ab', 'ab']",
        "IN_DELETE 10",
        "DICTIONARY_OUT {'a': ['a'], 'b': ['b']}",
        "COMMUTATIVE [40]",
        "RETRY 3",
        "returns 3 2",
        "compss_cancel_group None",
        "compss_delete_object True [True, True]",
        "compss_get_number_of_resources 1",
    ]


def test_names_of_commands_and_streams(tmp_path):
    assert output_of(run("--pycompss", PROGRAMS / "commands_and_streams.py", tmp_path)) == [
        "FILE_OUT_STDOUT TEXT",
        "FILE_OUT_STDERR told",
        "Prefix True",
        "STREAM_IN [0, 1, 2, 3, 4]",
        "compss_snapshot None",
    ]


def test_the_names_of_the_page_are_there_and_used_by_a_program_here(script):
    page = (Path(__file__).resolve().parents[2] / "docs" / "pycompss.md").read_text()
    table = page.partition("## What is covered")[2].partition("Not covered:")[0]
    module, names = "", []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5:
            continue
        module = cells[1].strip("`") or module
        family = ""
        for word in re.findall(r"`@?(\w+)`", cells[2]):
            name = family + word if word.startswith("_") else word
            family = name.rpartition("_")[0] if not word.startswith("_") else family
            if module in ("parameter", "api", "exceptions", "local"):
                names.append((module, name))
    assert len(names) > 40
    programs = "".join(path.read_text() for path in PROGRAMS.glob("*.py"))
    assert [name for _, name in names if not re.search(rf"\b{name}\b", programs)] == []
    done = run("--pycompss", script("\n".join(f"from pycompss.api.{module} import {name}" for module, name in names)))
    assert done.returncode == 0, done.stderr


def test_policies_for_failures(tmp_path):
    folder = tmp_path / "tries"
    folder.mkdir()
    done = pycompss("failures.py", "policies", folder)
    assert output_of(done) == [
        "retried 2",
        "ignored None",
        "replaced -1 [0]",
        "empty ''",
        "cancelled None [None, 1]",
        "limit None 2",
    ]
    assert done.stderr.count("it is run again") == 2
    assert "task 'endless' took longer than its time_out of 1 s" in done.stderr


def test_groups_and_their_exceptions():
    assert output_of(pycompss("failures.py", "groups")) == [
        "good [1, 1, 1]",
        "caught from a task",
        "caught later",
        "end",
    ]


@pytest.mark.parametrize(("how", "printed"), [("fatal", ""), ("unwaited", "last line\n")])
def test_a_failure_that_ends_the_program(how, printed):
    done = pycompss("failures.py", how)
    assert done.returncode == 1
    assert done.stdout == printed
    assert done.stderr.count("TaskFailed: task 'fatal' failed: RuntimeError: the end") == 1
    assert 'raise RuntimeError("the end")' in done.stderr


NOT_COVERED = [
    ("from pycompss.api.ompss import ompss\n@ompss(binary='x')\n@task()\ndef f(): pass\nf()", "@ompss"),
    ("import pycompss.functions.profile", "pycompss.functions"),
    ("@task(a=3)\ndef f(a): pass", "'a'"),
    ("@task(on_failure='PANIC')\ndef f(a): pass", "PANIC"),
    ("@constraint(processors='CPU')\n@task()\ndef f(): pass", "processors must be a list"),
    ("@constraint(computing_units='x')\n@task()\ndef f(): pass", "computing_units"),
    ("@IO()\ndef f(): pass", "@IO"),
    ("@task\ndef f(): pass", "@task"),
    ("@task(returns=2)\ndef f(): return 1\ncompss_wait_on(f())", "2 values"),
]


def test_what_is_not_covered_is_named(script):
    done = run(
        "--pycompss",
        script(f"""
            from pycompss.api.api import compss_wait_on
            from pycompss.api.IO import IO
            from pycompss.api.constraint import constraint
            from pycompss.api.parameter import *
            from pycompss.api.task import task
            for text in {[text for text, _ in NOT_COVERED]!r}:
                try:
                    exec(text)
                    print("accepted", text)
                except Exception as error:
                    print(str(error))
        """),
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(NOT_COVERED), done.stderr
    for line, (text, named) in zip(lines, NOT_COVERED, strict=True):
        assert named in line and not line.startswith("accepted"), f"{text}: {line}"


def test_constraints_of_the_paper_reach_the_task(script):
    path = script("""
        from pycompss.api.api import compss_wait_on
        from pycompss.api.constraint import constraint
        from pycompss.api.IO import IO
        from pycompss.api.task import task

        def write(data):
            return len(data)

        made = []
        for value in (20, "20", "auto(10,50,4)", "auto", "$SHARE"):
            made.append(constraint(storageBW=value)(IO()(task(returns=1)(write))))
        print([task.storage_bw for task in made], {task.io for task in made})
        constraint(computingUnits="2", memorySize="1")(IO()(task(returns=1)(write)))
        print(compss_wait_on([task(b"abc") for task in made]))
    """)
    lines = output_of(run("--pycompss", path, env={**os.environ, "SHARE": "7.5"}))
    assert lines == ["[20.0, 20.0, 'auto(10,50,4)', 'auto', 7.5] {True}", "[3, 3, 3, 3, 3]"]


def test_the_launcher_gives_the_name_sys_as_that_of_pycompss_does(script):
    program = script("print(sys.argv[1:])")
    assert output_of(run("--pycompss", program, "a")) == ["['a']"]
    assert "NameError" in run(program, "a").stderr


def test_without_the_option_there_is_no_pycompss(script):
    done = run(script("import pycompss.api.task"))
    assert done.returncode == 1
    assert "No module named 'pycompss'" in done.stderr
