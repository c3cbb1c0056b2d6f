"""PyCOMPSs programs that go on from what an earlier run has stored: `dovetail run --pycompss --checkpoint-folder FOLDER`."""

from __future__ import annotations

import pytest

HEADER = """
import os
import sys
from pycompss.api.api import *
from pycompss.api.parameter import *
from pycompss.api.task import task

def say(*words):  # in one piece
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

"""
PROGRAM = """
    import pathlib

    class Account:
        def __init__(self):
            self.entries = []

        @task()
        def add(self, entry):
            say("add", entry)
            self.entries.append(entry)

    @task(returns=1)
    def made(value):
        say("made", value)
        return [value]

    @task(path=FILE_INOUT)
    def append(path, text):
        say("append", text)
        with open(path, "a") as file:
            file.write(text)

    @task(folder=DIRECTORY_OUT, paths=COLLECTION_FILE_OUT)
    def write(folder, paths):
        say("write")
        pathlib.Path(folder, "deep").mkdir(parents=True)
        pathlib.Path(folder, "deep", "file").write_text("in the folder")
        for number, path in enumerate(paths):
            pathlib.Path(path).parent.mkdir(exist_ok=True)
            pathlib.Path(path).write_text(str(number))
            pathlib.Path(path).chmod(0o700)

    @task(rows={Type: COLLECTION_INOUT, Depth: 2}, table=DICTIONARY_INOUT)
    def change(rows, table):
        say("change")
        rows[0][0].entries.append("changed")
        rows[0][1] = made.function(7)
        table["new"] = "value"

    def main():
        class Local:
            count = 0

        @task(local=INOUT, values=INOUT, returns=2)
        def both(local, values):
            say("both")
            local.count += 1
            values.append(local.count)
            return local.count, values

        where = sys.argv[1]
        pathlib.Path(where + "/file").write_text("begin,")
        account, local, values, rows, table = Account(), Local(), [], [[Account(), 1]], {}
        account.add(1)
        append(where + "/file", "one,")
        number, copy = both(local, values)
        folder, files = where + "/folder/in", [where + "/parts/a", where + "/parts/b"]
        write(folder, files)
        change(rows, table)
        account.add(made(2))
        if sys.argv[2] == "stop":
            compss_snapshot()
            sys.exit("stopped")
        append(where + "/file", "two")
        account.add(3)
        account, local, values, number, copy, rows, table = compss_wait_on(account, local, values, number, copy, rows, table)
        print(account.entries, local.count, values, number, copy, rows[0][0].entries, rows[0][1], table)
        with compss_open(where + "/file") as file:
            print(file.read())
        compss_barrier()
        print(pathlib.Path(folder, "deep", "file").read_text(), *(pathlib.Path(file).read_text() for file in files), os.access(files[0], os.X_OK))

    main()
"""
PERFORMED = ["add 1", "add [2]", "append one,", "both", "change", "made 2", "made 7", "write"]
RESULTS = [
    "[1, [2], 3] 1 [1] 1 [1] ['changed'] [7] {'new': 'value'}",
    "begin,one,two",
    "in the folder 0 1 True",
]


@pytest.fixture
def run(lines_of, tmp_path):
    """Runs the program with a new folder for its files, and the one for checkpoints."""

    def run(how, where, **more):
        (tmp_path / where).mkdir()
        return lines_of(PROGRAM, tmp_path / where, how, before=("--checkpoint-folder", tmp_path / "stored"), **more)

    return run


def test_a_later_run_goes_on_from_what_was_stored(run, lines_of, tmp_path):
    """Results, objects and files become what they were, and the tasks that made them are not performed."""
    # The paths are among the texts that tell calls apart: the folder is the same, emptied.
    assert sorted(run("stop", "files", status=1)) == PERFORMED
    (tmp_path / "files").rename(tmp_path / "files of the first run")
    lines = run("go on", "files")
    assert sorted(lines[:2]) == ["add 3", "append two"]
    assert lines[2:] == RESULTS
    assert "7 of 9 tasks were taken from there" in lines_of.errors


def test_from_the_first_call_that_differs_tasks_are_performed(lines_of, tmp_path):
    program = """
        @task(returns=1)
        def one(value):
            say("one", value)
            return value

        @task(returns=1)
        def two(value):
            say("two", value)
            return value

        print(compss_wait_on([(one if letter.islower() else two)(letter) for letter in sys.argv[1]]))
    """
    before = ("--checkpoint-folder", tmp_path / "stored")
    (tmp_path / "stored" / "00000003x").mkdir(parents=True)
    (tmp_path / "stored" / "other.new").mkdir()
    assert lines_of(program, "abc", before=before, DOVETAIL_WORKERS="1")[-1] == "['a', 'b', 'c']"
    assert lines_of(program, "aXc", before=before, DOVETAIL_WORKERS="1") == ["two X", "one c", "['a', 'X', 'c']"]
    assert "call 2 is two(value='X'), and was one(value='b'): from here on tasks are performed" in lines_of.errors
    # What is not ours in the folder is not touched.
    assert sorted(path.name for path in (tmp_path / "stored").iterdir() if not path.name.isdigit()) == [
        "00000003x",
        "other.new",
    ]


def test_what_cannot_be_stored_is_performed_again(lines_of, tmp_path):
    """And what tasks did in any order, a failed task, and one that was ended in the middle."""
    program = """
        import threading

        @task(returns=1)
        def lock():
            say("lock")
            return threading.Lock()

        @task(values=COMMUTATIVE)
        def any_order(values, value):
            say("any order", value)
            values.append(value)

        @task(returns=1, on_failure="IGNORE")
        def failing():
            say("failing")
            raise ValueError("no")

        @task(values=INOUT)
        def last(values):
            say("last")
            values.sort()
            values.append("end")
            if sys.argv[1] == "killed":
                os._exit(9)

        values = []
        compss_wait_on(lock())
        any_order(values, 1)
        any_order(values, 2)
        compss_wait_on(failing())
        last(values)
        print(compss_wait_on(values))
    """
    before = ("--checkpoint-folder", tmp_path / "stored")
    performed = ["any order 1", "any order 2", "failing", "last", "lock"]
    assert sorted(lines_of(program, "killed", status=9, before=before)) == performed
    assert "task 'lock' is not stored, and is performed again by a later run: TypeError" in lines_of.errors
    assert sorted(lines_of(program, "", before=before)) == ["[1, 2, 'end']", *performed]


def test_an_object_that_cannot_become_what_it_was_is_an_error(lines_of, tmp_path):
    program = """
        import collections

        class Slots:
            __slots__ = ("value",)

        @task(slots=INOUT, on_failure="IGNORE")
        def change(slots):
            slots.value = 1

        slots = Slots()
        change(slots)
        print(compss_wait_on(slots).value)
    """
    before = ("--checkpoint-folder", tmp_path / "stored")
    assert lines_of(program, before=before) == ["1"]
    lines_of(program, status=1, before=before)
    assert (
        f"a value of type 'Slots', cannot be made what it was at the checkpoint {tmp_path}/stored/00000001"
        in lines_of.errors
    )


def test_a_folder_that_cannot_be_used_is_bad_usage(lines_of, tmp_path):
    (tmp_path / "file").write_text("")
    lines_of("", status=2, before=("--checkpoint-folder", tmp_path / "file"))
    assert f"dovetail run: --checkpoint-folder {tmp_path}/file: File exists" in lines_of.errors
