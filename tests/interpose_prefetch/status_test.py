"""`dovetail prefetch status`: what is read ahead for programs that run now."""

import contextlib
import dataclasses
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import unittest.mock

from followed import unavailable
from support import BUILD, Case, Description, inside_counts, prefetch_status, preload, read_plan, replay

STEP = 256 << 10
# Reads so many pieces, says so, and goes on after a line.
READER = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
for number in range(32):
    if number == int(sys.argv[2]):
        print("there", flush=True)
        sys.stdin.readline()
    os.pread(descriptor, 4096, number * 262144)
"""


class Status(Case):
    def setUp(self):
        super().setUp()
        self.advisor_socket()  # where there is none
        self.path = self.file("data", 32 * STEP)

    def words(self, stop: int, path=None):
        return sys.executable, "-c", READER, path or self.path, stop

    def observed(self, path=None) -> None:
        status, _, errors = self.observe(*self.words(32, path))
        self.assertEqual((status, errors), (0, b""))
        self.forget(path or self.path)

    @contextlib.contextmanager
    def running(self, *options: object, stop: int = 16, path=None):
        """The command with a program that has come so far."""
        command = [sys.executable, "-m", "dovetail.cli", "run", *options, "--", *self.words(stop, path)]
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), DOVETAIL_PREFETCH_GAP_KB="0")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        with subprocess.Popen([str(word) for word in command], env=environment, **pipes) as process:
            try:
                self.assertEqual(process.stdout.readline(), b"there\n")
                yield process
                process.stdin.write(b"\n")
                self.assertEqual(process.wait(), 0)
            finally:
                process.kill()

    def json(self) -> dict:
        status, output, errors = self.dovetail("prefetch", "status", "--json")
        self.assertEqual((status, errors), (0, b""))
        return json.loads(output)

    def run_of(self, process: subprocess.Popen) -> dict:
        """What the command shows of it, without the start of an interpreter for each look."""
        (run,) = [run for run in prefetch_status._runs() if run.process == process.pid]
        return dataclasses.asdict(run)

    def file_of(self, run: dict, key: str = "files") -> dict:
        (file,) = [file for file in run[key] if file["path"] == str(self.path)]
        return file

    def test_where_a_program_is_in_its_plan(self):
        self.observed()
        with self.running("--plan", self.plan_file) as process:
            run = self.run_of(process)
            self.assertEqual(run["program"], [str(word) for word in self.words(16)])
            self.assertEqual(run["plan"], str(self.plan_file))
            self.assertEqual((run["detected"], run["rules"]), (None, None))
            file = self.file_of(run)
            self.assertEqual((file["at"], file["runs"], file["left_the_plan"], file["given_up"]), (16, 32, 0, ""))
            self.assertEqual((file["hits"], file["late"]), (None, None), "without a report nobody looks at the clock")
            # The helper may still be at it.
            while file["ahead"] < 16 * 4096:
                file = self.file_of(self.run_of(process))
            self.assertEqual(file["ahead"], 16 * 4096)
            self.assertLessEqual(16 * 4096, file["asked"])

    def test_with_a_report_hits_are_counted(self):
        self.observed()
        with self.running("--plan", self.plan_file, "--report", self.folder / "report.txt") as process:
            file = self.file_of(self.run_of(process))
            self.assertEqual(file["hits"] + file["late"], 16)

    def test_as_text_with_a_name_that_is_none(self):
        strange = self.folder / os.fsdecode(b"strange \xff")
        self.path.rename(strange)
        self.path = strange
        self.observed(strange)
        with self.running("--plan", self.plan_file, path=strange) as process:
            status, output, errors = self.dovetail("prefetch", "status")
            self.assertEqual((status, errors), (0, b""))
            lines = os.fsdecode(output).splitlines()
            begin = next(number for number, line in enumerate(lines) if line.startswith(f"{process.pid}: "))
            self.assertIn("its reads are seen by a library that is loaded into it", lines[begin + 1 :])
            (line,) = [line for line in lines if line.endswith(f"  {strange}")]
            self.assertEqual(line.split()[:5], ["16", "32", "-", "-", "0"])

    def test_detection(self):
        self.forget(self.path)
        with self.running("--detect", stop=24) as process:
            run = self.run_of(process)
            self.assertEqual((run["files"], run["plan"]), (None, None))
            file = self.file_of(run, "detected")
            while file["asked"] == 0:
                self.assertEqual(file["given_up"], 0)
                file = self.file_of(self.run_of(process), "detected")
            self.assertGreater(file["ahead"] + file["used"] + file["wasted"], 0)
            self.assertIsNone(file["waiting"], "without a report nobody looks at the clock")

    def test_rules(self):
        self.forget(self.path)
        # On some disks one request brings the whole file, of which nothing is read ahead then.
        rules = self.configuration({"File": {"Path": str(self.path), "BlockSize": STEP, "DontNeed": {}}})
        with self.running("--configuration", rules) as process:
            file = self.file_of(self.run_of(process), "rules")
            self.assertGreater(file["reads"], 0, file)
        with self.running("--configuration", rules, "--report", self.folder / "report.txt") as process:
            waiting = self.file_of(self.run_of(process), "rules")["waiting"]
            self.assertEqual(waiting["reads"], 16)
            self.assertEqual(waiting["waited"] > 0, waiting["seconds"] > 0)

    def test_by_the_events_of_the_kernel(self):
        if why := unavailable():
            self.skipTest(why)
        self.observed()
        with self.running("--system", "--plan", self.plan_file) as process:
            run = self.run_of(process)
            self.assertEqual(run["seen_by"], "the kernel's events")
            file = self.file_of(run)
            # The observer may still be at it.
            while file["at"] != 16:
                file = self.file_of(self.run_of(process))

    def test_the_advisor_beside_others(self):
        rules = self.configuration({"File": {"Path": str(self.path), "BlockSize": STEP, "WillNeed": {}}})
        self.forget(self.path)
        self.start_advisor(rules, "--stay")
        self.assertEqual(self.json()["advisor"], [])
        with self.running("--advised") as process:
            found = self.json()
            (run,) = [run for run in found["runs"] if run["process"] == process.pid]
            self.assertIsNone(run["rules"], "which are the advisor's")
            self.assertEqual([file["path"] for file in found["advisor"]], [str(self.path)])

    def test_programs_that_read_ahead_themselves(self):
        """The memory is as a runtime makes it (tests/prefetch and tests/python have runtimes)."""
        ways = (2_000_000, 500_000, 7, 2, 0, 3_000_000, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        content = struct.pack("<16Q", 0x3130454449534E49, *ways)
        for memory, shown in ((content, True), (content[:-8], False), (bytes(128), False)):
            with preload.shared_memory(inside_counts.NAME, memory, len(memory)):
                own = [one for one in prefetch_status._programs() if one.process == os.getpid()]
                self.assertEqual(len(own), shown)
                if not shown:
                    continue
                tasks, calls = own[0].ways
                self.assertEqual((tasks.asked, tasks.unread), (2_000_000, 500_000))
                self.assertEqual((tasks.waiting.reads, tasks.waiting.waited), (7, 2))
                self.assertEqual((calls.asked, calls.unread, calls.waiting), (3_000_000, None, None))
                self.assertIn(os.getpid(), [one["process"] for one in self.json()["inside"]])
                _, output, _ = self.dovetail("prefetch", "status")
                lines = [line.split() for line in os.fsdecode(output).splitlines()]
                self.assertIn(["7", "5", "2", "-", "2.0", "0.5", "what", "tasks", "declare"], lines)
                self.assertIn(["-", "-", "-", "-", "3.0", "-", "what", "the", "program", "asks", "for"], lines)

    def test_what_has_ended_is_not_there(self):
        self.observed()
        with self.running("--plan", self.plan_file) as process:
            self.run_of(process)
        runs = list(prefetch_status._runs())
        self.assertNotIn(process.pid, [run.process for run in runs])

    def test_a_run_that_ends_while_it_is_looked_at_is_no_error(self):
        found = {prefetch_status.DESCRIPTION: "/proc/self/fd/9999"}
        with unittest.mock.patch.object(prefetch_status, "_memories", return_value=found):
            self.assertEqual(list(prefetch_status._runs()), [])

    def test_what_others_have_put_there_is_left_out(self):
        """Another program may have memory of these names, of any content."""
        self.observed()
        plan = os.urandom(64)
        described = Description(["none"], None, [], False, False).packed()
        wrong = (described.replace(b"1", number) for number in (b"2", b"-1", b"x", "²".encode(), b"9" * 5000, b""))
        for description in (b"", b"\0", b"\0" * 4, b"\xff" * 100_000, described, *wrong):
            with preload.shared_memory(prefetch_status.DESCRIPTION, description, len(description)):
                for content in (plan, b"", (0x33304E414C505444).to_bytes(8, "little") + plan[:60]):
                    with preload.shared_memory("dovetail-plan", content, len(content)):
                        self.assertNotIn(os.getpid(), [run.process for run in prefetch_status._runs()])

    def test_a_program_that_writes_over_its_plan_spoils_no_report(self):
        self.observed()
        plan = replay.compact(read_plan(self.plan_file), 1 << 20, timed=True)
        places = replay._places(plan.content)
        with preload.shared_memory("dovetail-plan", plan.content, places.end) as (memory, _):
            before = plan.done(memory)
            os.pwrite(memory, b"\xff" * places.progress_at, 0)
            self.assertEqual(plan.done(memory), before)
            self.assertIn(str(self.path), [one.path for one in before])

    def test_what_is_hostile_does_not_hide_the_others(self):
        """Short tables, a plan of terabytes, files that each claim all extents, words that are not there."""
        self.observed()
        described = Description(["none"], None, ["x"], False, False).packed()
        header = struct.Struct("<QQQQQQ16x")
        magic = 0x33304E414C505444
        huge = header.pack(magic, 0, 1 << 20, 1 << 40, 1, 0)
        with self.running("--plan", self.plan_file) as process, contextlib.ExitStack() as stack:
            for name, content, size in (
                ("dovetail-detection", b"short", 5),
                ("dovetail-plan", huge, 1 << 40),
            ):
                child = self._with_memories(stack, described, name, content, size)
                self.assertNotIn(child, [run.process for run in prefetch_status._runs()])
            hostile = [
                self._with_memories(stack, wrong, "dovetail-other", b"", 0)
                for wrong in (described.replace(b"1", b"3"), described.replace(b"1", b"0"))
            ]
            status, output, errors = self.dovetail("prefetch", "status")
            self.assertEqual((status, errors), (0, b""))
            # Others of this machine may be read ahead for, too.
            shown = [int(number) for number in re.findall(rb"^(\d+): ", output, re.MULTILINE)]
            self.assertEqual(shown.count(process.pid), 1, output)
            self.assertFalse(set(hostile) & set(shown), output)

    def _with_memories(
        self, stack: contextlib.ExitStack, described: bytes, name: str, content: bytes, size: int
    ) -> int:
        """A process that has them open."""
        with (
            preload.shared_memory(prefetch_status.DESCRIPTION, described, len(described)) as (first, _),
            preload.shared_memory(name, content, size) as (second, _),
        ):
            child = subprocess.Popen(["sleep", "600"], pass_fds=(first, second))
        stack.callback(child.wait)
        stack.callback(child.kill)
        return child.pid

    def test_memory_that_is_another_users_is_left_out(self):
        if os.getuid() != 0:
            self.skipTest("only root can give memory away")
        described = Description(["none"], None, [], False, False).packed()
        with preload.shared_memory(prefetch_status.DESCRIPTION, described, len(described)) as (memory, _):
            self.assertIn(os.getpid(), [run.process for run in prefetch_status._runs()])
            os.fchown(memory, 65534, 65534)
            self.assertNotIn(os.getpid(), [run.process for run in prefetch_status._runs()])

    def test_a_terminal_obeys_nothing_of_it(self):
        self.assertEqual(prefetch_status._shown("a\x1b[2J\udcffb\n"), "a\\x1b[2J\udcffb\\n")

    def test_where_nothing_runs_it_says_so(self):
        with (
            unittest.mock.patch.object(prefetch_status, "_runs", return_value=iter(())),
            unittest.mock.patch.object(prefetch_status, "_programs", return_value=iter(())),
        ):
            status, output, errors = self._in_child(lambda: prefetch_status.status(False))
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
        self.assertIn(b"no program runs with a plan", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
