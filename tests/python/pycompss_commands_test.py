"""Tasks of PyCOMPSs programs that are programs themselves: their words, streams, exit values and ends, and what decorators start them."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from conftest import script

HEADER = """
import os
import sys
from pycompss.api.api import *
from pycompss.api.binary import binary
from pycompss.api.compss import compss
from pycompss.api.constraint import constraint
from pycompss.api.container import container
from pycompss.api.epilog import epilog
from pycompss.api.exceptions import COMPSsException
from pycompss.api.mpi import mpi
from pycompss.api.parameter import *
from pycompss.api.prolog import prolog
from pycompss.api.software import software
from pycompss.api.task import task

def text_of(path):
    with compss_open(path) as file:
        return file.read()

"""

WORDS = '#!/bin/sh\nprintf "<%s>" "$@"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, which has a program that prints its words in brackets."""
    monkeypatch.chdir(tmp_path)
    script(tmp_path / "words", WORDS)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("text")
    return tmp_path


def test_a_program_gets_arguments_in_their_order_prefixes_and_absolute_paths(lines_of, folder):
    assert lines_of("""
        @binary(binary="../words", working_dir="made/{{where}}/..")
        @task(path=FILE_IN, paths={Type: COLLECTION_FILE_IN}, named={Type: FILE_IN, Prefix: "--file="}, out=FILE_OUT_STDOUT)
        def f(number, path, paths, named, out, where="x", *rest, last="the end"):
            pass

        f(1, "a.txt", ["a.txt", "b.txt"], "b.txt", "out", "y", 2, "a  b")
        here = os.getcwd() + "/"
        print(text_of("out").replace(here, ""))
    """) == ["<1><a.txt><a.txt><b.txt><--file=b.txt><y><2><a  b><the end>"]


def test_a_line_of_arguments_is_filled_in_and_names_files_by_patterns(lines_of, folder):
    assert lines_of(
        """
        @binary(binary="./words", args="-d {{ what }} $WORD '{{what}}_{{number}}' $HERE/*.txt *.none '$HERE/*.txt'")
        @task(out={Type: FILE_OUT, StdIOStream: STDOUT})
        def f(what, number, out):
            pass

        f("two words; *", 5, "out")
        print(text_of("out"))
        """,
        WORD="it's $HERE  {{number}}",
        HERE=".",
    ) == [
        "<-d><two words; *><it's $HERE  {{number}}><two words; *_5><./a.txt><./b.txt><*.none><./a.txt><./b.txt>",
    ]


def test_the_three_standard_streams_are_files_that_order_tasks(lines_of, folder):
    script(folder / "both", "#!/bin/sh\ntr a-z A-Z\necho error >&2\n")
    assert lines_of("""
        @task(path=FILE_OUT)
        def write(path):
            with open(path, "w") as file:
                file.write("written by a task")

        @binary(binary="./both")
        @task(source=FILE_IN_STDIN, result=FILE_OUT_STDOUT, errors={Type: FILE_OUT, StdIOStream: STDERR})
        def f(source, result, errors):
            pass

        @binary(binary="echo", args=" more")
        @task(result=FILE_INOUT_STDOUT)
        def append(result):
            pass

        write("source")
        f("source", "result", "errors")
        append("result")
        print(text_of("result"), text_of("errors"))
    """) == ["WRITTEN BY A TASKmore", " error", ""]


def test_the_exit_value_is_the_result_or_a_failure_that_is_tried_again(lines_of, folder):
    script(folder / "second", '#!/bin/sh\n[ -e "$1" ] || { : > "$1"; exit 9; }\n')
    assert lines_of("""
        @binary(binary="sh", args="-c 'exit {{value}}'", fail_by_exit_value=False)
        @task(returns=int)
        def ends_with(value):
            pass

        @binary(binary="./second")
        @task(returns=1)
        def second_time(path):
            pass

        @binary(binary="sh", args="-c 'exit 3'")
        @task()
        def fails():
            pass

        print(compss_wait_on(ends_with(0), ends_with(7), second_time("mark")))
        fails()
        try:
            compss_barrier()
        except Exception as error:
            print(error)
    """)[:2] == ["[0, 7, 0]", "task 'fails' failed: CommandFailed: task 'fails': sh -c 'exit 3' ended with 3"]
    assert "ended with 9; it is run again" in lines_of.errors


def test_a_program_is_told_to_end_when_its_group_is_cancelled_or_its_time_is_over(lines_of, folder):
    os.mkfifo(folder / "begun")
    script(
        folder / "sleeper",
        '#!/bin/sh\ntrap "echo told > told; exit 1" TERM\necho > begun\nwhile :; do sleep 0.01; done\n',
    )
    assert lines_of("""
        from pycompss.api.on_failure import on_failure

        @binary(binary="./sleeper")
        @task()
        def sleeps():
            pass

        @task()
        def ends_the_group():
            with open("begun") as file:
                file.read()
            raise COMPSsException("enough")

        @on_failure(management="IGNORE")
        @binary(binary="sleep", args="600")
        @task(time_out=0.1)
        def too_long():
            pass

        try:
            with TaskGroup("group"):
                sleeps()
                ends_the_group()
        except COMPSsException as error:
            print(error)
        print(text_of("told"))
        too_long()
    """) == ["enough", "told", ""]
    assert "took longer than the time_out of 0.1 s" in lines_of.errors


# It keeps a file open, and so does the program that it starts.
DEAF = '#!/bin/sh\ntrap "" TERM\nexec 3> "$1"\necho begun >&3\nsleep 600\n:\n'


def test_nothing_is_left_of_a_program_that_was_told_to_end(lines_of, folder):
    """What it has started ends, too, and what does not end by the signal is killed. All hold a pipe open, which is read to its end."""
    script(folder / "deaf", DEAF)
    script(folder / "hears", DEAF.replace('trap "" TERM\n', ""))
    assert lines_of(
        """
        import select

        pipes = {}
        for name in "one", "two", "three":
            os.mkfifo(name)
            pipes[name] = os.open(name, os.O_RDONLY | os.O_NONBLOCK)

        @binary(binary="./hears")
        @task(time_out=2, on_failure="IGNORE")
        def hears(name):
            pass

        @binary(binary="./deaf")
        @task(time_out=2, on_failure="IGNORE")
        def deaf(name):
            pass

        @binary(binary="./deaf")
        @task()
        def cancelled(name):
            pass

        @task()
        def ends_the_group():
            select.select([pipes["three"]], [], [])
            raise COMPSsException("enough")

        hears("one")
        deaf("two")
        try:
            with TaskGroup("group"):
                cancelled("three")
                ends_the_group()
        except COMPSsException as error:
            print(error)
        compss_barrier()
        for name, pipe in pipes.items():
            os.set_blocking(pipe, True)
            while os.read(pipe, 100):
                pass
            print(name, "has ended")
        """,
        DOVETAIL_WORKERS="4",
    ) == ["enough", "one has ended", "two has ended", "three has ended"]


def test_nothing_is_left_of_a_program_when_its_task_is_interrupted(lines_of, folder):
    """The program ends by the signal that all get, and has started another that does not."""
    script(
        folder / "hears",
        DEAF.replace('trap "" TERM\n', "").replace("sleep", '(trap "" TERM; exec sleep').replace("600", "600)"),
    )
    os.mkfifo(folder / "pipe")
    pipe = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    lines_of(
        """
        import select, signal

        @binary(binary="./hears")
        @task()
        def hears(name):
            pass

        hears("pipe")
        select.select([os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)], [], [])
        os.kill(os.getpid(), signal.SIGINT)
        compss_barrier()
        """,
        status=130,
    )
    os.set_blocking(pipe, True)
    while os.read(pipe, 100):
        pass
    os.close(pipe)


def test_programs_run_before_and_after_a_task(lines_of, folder):
    assert lines_of("""
        @prolog(binary="sh", args="-c 'echo before {{name}} >> log'")
        @epilog(binary="sh", args="-c 'echo after {{name}} >> log'")
        @task(returns=1)
        def f(name):
            with open("log", "a") as file:
                file.write("body\\n")
            return name

        @prolog(binary="false", fail_by_exit_value=False)
        @task(returns=1)
        def anyhow():
            return "anyhow"

        @prolog(binary="false")
        @task(returns=1, on_failure="IGNORE")
        def never():
            return "never"

        @epilog(binary="false")
        @task(returns=1)
        def all_the_same():
            return "all the same"

        @epilog(binary="false", fail_by_exit_value=True)
        @task(returns=1, on_failure="IGNORE")
        def not_now():
            return "not now"

        print(compss_wait_on(f("x"), anyhow(), never(), all_the_same(), not_now()), open("log").read().split("\\n"))
    """) == ["['x', 'anyhow', None, 'all the same', None] ['before x', 'body', 'after x', '']"]


def test_a_task_is_another_program_of_pycompss(lines_of, folder):
    (folder / "inner.py").write_text(
        "import sys\nfrom pycompss.api.task import task\nfrom pycompss.api.api import compss_wait_on\n"
        "@task(returns=1)\ndef f(a):\n    return a + 1\nsys.exit(compss_wait_on(f(int(sys.argv[1]))))\n"
    )
    assert lines_of(
        """
        @compss(runcompss="runcompss", flags="-d", app_name="${PLACE}/inner.py", computing_nodes="2", fail_by_exit_value=False)
        @task(returns=int)
        def inner(value):
            pass

        print(compss_wait_on(inner(4)))
        """,
        PLACE=str(folder),
    ) == ["5"]


def test_a_program_runs_in_a_container_that_sees_its_files(lines_of, folder, monkeypatch):
    """The engine is a stand-in that prints its words: no engine can be had everywhere."""
    (folder / "bin").mkdir()
    script(folder / "bin" / "docker", WORDS)
    (folder / "data").mkdir()
    (folder / "data" / "in").write_text("")
    program = """
        @container(engine="DOCKER", image="debian:12", options="-e A=1")
        @binary(binary="cat", working_dir="w")
        @task(path=FILE_IN, out=FILE_OUT_STDOUT)
        def f(path, out):
            pass

        @container(engine="DOCKER", image="debian:12")
        @task()
        def python():
            pass

        try:
            python()
        except ValueError as error:
            print(error)
        f("data/in", "out")
        print(text_of("out").replace(os.getcwd(), "."))
    """
    assert lines_of(program, PATH=f"{folder / 'bin'}:{os.environ['PATH']}") == [
        "@container of 'python' is not covered by Dovetail except above @binary",
        "<run><--rm><--volume><.:.><--volume><./data:./data><--volume><./w:./w><--workdir><./w><-e><A=1><debian:12><cat><./data/in>",
    ]
    missing = program.replace("DOCKER", "singularity")
    if shutil.which("singularity") is None:
        lines_of(missing, status=1)
        assert "@container needs 'singularity', which is not installed here" in lines_of.errors


def test_a_file_says_what_a_task_is(lines_of, folder):
    def write(name: str, **parts: object) -> None:
        (folder / name).write_text(json.dumps(parts))

    write(
        "program.json",
        execution={"type": "binary", "binary": "./words", "args": "-{{a}}"},
        parameters={"out": "FILE_OUT_STDOUT", "returns": "int"},
        prolog={"binary": "sh", "args": "-c 'echo prolog > log'"},
        epilog={"binary": "sh", "args": "-c 'echo epilog >> log'"},
        constraints={"computing_units": 2},
    )
    write("plain.json", execution={"type": "task"}, parameters={"values": "INOUT"})
    write("other.json", execution={"type": "fortran"})
    write("wrong.json", parameters={"values": "INOUTT"})
    assert lines_of("""
        @software(config_file="program.json")
        def f(a, out):
            pass

        @software(config_file="plain.json")
        def grow(values):
            values.append(1)

        print(compss_wait_on(f(3, "out")), text_of("out"), text_of("log").split())
        values = []
        grow(values)
        print(compss_wait_on(values))
        for name in "other.json", "wrong.json":
            try:
                software(config_file=name)(lambda values: None)
            except ValueError as error:
                print(error)
    """) == [
        "0 <-3> ['prolog', 'epilog']",
        "[1]",
        "@software, other.json: the type of execution must be task or one of binary, mpi, mpmd_mpi, multinode, compss, http, not 'fortran'",
        "@software, wrong.json: 'INOUTT' of 'values' is no direction of pycompss.api.parameter",
    ]


def test_what_is_missing_old_or_not_there_is_told(lines_of):
    assert lines_of("""
        def attempt(decorator, **options):
            try:
                decorator(**options)
            except TypeError as error:
                print(error)

        from pycompss.api.implement import implement
        from pycompss.api.ompss import ompss

        attempt(binary, working_dir="/tmp")
        attempt(mpi, binary="date")
        attempt(compss, appname="x")
        attempt(implement, source_class="m")
        attempt(ompss, workingDir="/tmp")

        @binary(binary="true", workingDir="/tmp", bad=1)
        @task()
        def f():
            pass

        f()
    """) == [
        "@binary must be given 'binary'",
        "@mpi must be given 'runner'",
        "@compss must be given 'app_name'",
        "@implement must be given 'method'",
        "@ompss must be given 'binary'",
    ]
    assert "WARNING: Deprecated argument: @binary calls 'workingDir' now 'working_dir'" in lines_of.errors
    assert "WARNING: Unexpected argument: @binary has no 'bad'" in lines_of.errors


def test_other_programming_models_are_refused_when_a_task_is_called(lines_of):
    models = {"ompss": "binary", "opencl": "kernel", "decaf": "df_script", "julia": "script"}
    assert lines_of(f"""
        import importlib

        def function():
            pass

        for name, option in {models}.items():
            decorator = getattr(importlib.import_module("pycompss.api." + name), name)
            refused = decorator(**{{option: "x"}})(task()(function))
            try:
                refused()
            except ValueError as error:
                print(error)
    """) == [
        f"task 'function': the decorator @{name} of PyCOMPSs is not covered by Dovetail (see docs/pycompss.md)"
        for name in models
    ]
