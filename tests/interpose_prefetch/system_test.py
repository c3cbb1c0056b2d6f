"""`--system`: what a program reads is seen by the kernel's events, whatever it is linked with and however it reads; and a plan's advice comes from outside."""

import os
import select
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from followed import STATIC, STEP, UNSEEN, System, unavailable
from support import BUILD, PAGE, Case, hangs, observe, prefetch_run, preload, read_plan, replay, system_observer

# Reads once more as a child, in another program, and in a child's child.
FAMILY = """
import os, sys
path, static = sys.argv[1:]
descriptor = os.open(path, os.O_RDONLY)
os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
os.pread(descriptor, 10, 1 << 20)
if os.fork() == 0:
    os.pread(descriptor, 10, 2 << 20)
    if os.fork() == 0:
        os.execv(static, [static, path, str(3 << 20)])
    os.wait()
    os._exit(0)
os.wait()
"""


# More than the kernel keeps for an observer that is held up.
FLOOD = """
import os, pathlib, signal, sys
def is_observer(process):
    try:
        is_child = f"PPid:\\t{os.getppid()}\\n" in (process / "status").read_text()
        return is_child and (process / "comm").read_text().startswith("dovetail-observ")
    except OSError:
        return False  # it has ended meanwhile
(observer,) = [int(one.name) for one in pathlib.Path("/proc").glob("[0-9]*") if is_observer(one)]
descriptor = os.open(sys.argv[1], os.O_RDONLY)
os.kill(observer, signal.SIGSTOP)
for number in range(250_000):
    os.pread(descriptor, 1, number % 2 << 20)
os.kill(observer, signal.SIGCONT)
"""

# An observer that ends before the program is known to it.
LEAVES = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[sys.argv.index("--channel") + 1]))
channel.send(b"ready")
channel.recv(4)
"""
# One that hangs when it is told of the program, and has the process that waits, and `dovetail`, told to end.
HANGS = """
import os, signal, socket, struct, sys
channel = socket.socket(fileno=int(sys.argv[sys.argv.index("--channel") + 1]))
channel.send(b"ready")
program, = struct.unpack("=i", channel.recv(4))
os.kill({target}, signal.SIGTERM)
channel.recv(4)  # the program has ended
"""


def as_program(folder: Path, before: str):
    """The observer is started by these words."""
    path = folder / "observer"
    path.write_text(f'#!/bin/sh\nexec {before} {system_observer._program()} "$@"\n')
    path.chmod(0o755)
    return mock.patch.object(system_observer, "_program", return_value=str(path))


class Observed(System):
    def test_a_static_program_and_nothing_that_it_did_not_read(self):
        pages = self.seen(STATIC, self.path, 3 * STEP, 5 * STEP)
        self.assertEqual(pages, {0, 3 * STEP // PAGE, 5 * STEP // PAGE})
        self.assertEqual([offset for offset, _ in self.extents_of(self.path)], [0, 3 * STEP, 5 * STEP])

    def test_cached_or_not_and_the_order_is_that_of_the_reads(self):
        for forgotten in (True, False):
            if forgotten:
                self.forget(self.path)
            self.seen(STATIC, self.path, 5 * STEP, 3 * STEP, 6 * STEP)
            self.assertEqual([offset for offset, _ in self.extents_of(self.path)], [0, 5 * STEP, 3 * STEP, 6 * STEP])

    def test_a_call_without_the_c_library(self):
        self.assertEqual(self.seen(UNSEEN, "bare", self.path, 3 * STEP), {3 * STEP // PAGE})

    def test_mapped_memory(self):
        for forgotten in (True, False):
            if forgotten:
                self.forget(self.path)
            pages = self.seen(UNSEEN, "mapped", self.path, 2 * STEP, 5 * STEP)
            self.assertLessEqual({2 * STEP // PAGE, 5 * STEP // PAGE}, pages)
            # The kernel maps what is around a page as well, up to 64 KiB.
            self.assertLessEqual(len(pages), 2 * 2 * 65536 // PAGE)

    def test_io_uring(self):
        for way in ("ring", "worker"):
            for forgotten in (True, False):
                if forgotten:
                    self.forget(self.path)
                pages = self.seen(UNSEEN, way, self.path, 3 * STEP, 6 * STEP)
                self.assertEqual(pages, {3 * STEP // PAGE, 6 * STEP // PAGE}, (way, forgotten))

    def test_children_and_other_programs(self):
        pages = self.seen(sys.executable, "-c", FAMILY, self.path, STATIC)
        self.assertEqual(pages, {0, *(number * STEP // PAGE for number in (1, 2, 3))})

    def test_a_file_that_was_open_before(self):
        status, _, errors = self.observe("head", "-c", "10", stdin=self.path.read_bytes()[:100], system=True)
        self.assertEqual(status, 0, errors)
        script = f"exec {sys.executable} -c 'import os; os.pread(5, 10, 4 << 20)' 5< {self.path}"
        # This process has the file open, and the program is told nothing but the number.
        descriptor = os.open(self.path, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        self.assertIn(4 * STEP // PAGE, self.seen("sh", "-c", script))

    def test_what_another_process_reads_meanwhile_is_not_in_the_plan(self):
        other = self.file("other", 2 * STEP)
        reader = "import os,sys\nf=os.open(sys.argv[1], os.O_RDONLY)\nprint(flush=True)\nwhile os.getppid() != 1: os.pread(f, 10, 1 << 20), os.pread(f, 10, 0)"
        with subprocess.Popen([sys.executable, "-c", reader, other], stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                self.assertEqual(self.seen(STATIC, self.path), {0})
                self.assertEqual(self.extents_of(other), [])
            finally:
                process.kill()

    def test_what_a_program_writes_itself_is_left_out(self):
        status, _, _ = self.observe("sh", "-c", "cat data > made; cat made > /dev/null", system=True)
        self.assertEqual(status, 0)
        self.assertEqual(
            [file["path"] for file in self.plan()["files"] if str(self.folder) in file["path"]], [str(self.path)]
        )

    def test_names_of_files(self):
        deep = self.folder / Path(*["x" * 200] * 8)
        deep.mkdir(parents=True)
        odd = deep / "a name with \\040 and \n and \xe4"
        odd.write_bytes(bytes(PAGE))
        self.assertEqual(self.seen(STATIC, odd, path=odd), {0})

    def test_nothing_to_read_ahead_is_said(self):
        status, _, errors = self.observe("sh", "-c", "exit 0", system=True)
        self.assertEqual((status, errors), (0, b""))  # the shell itself

    def test_children_in_namespaces_of_their_own(self):
        if os.geteuid() != 0 or self.run_as_it_is("unshare", "--pid", "--mount", "--fork", "true")[0] != 0:
            self.skipTest("no namespace can be made here")
        self.assertEqual(self.seen("unshare", "--pid", "--mount", "--fork", STATIC, self.path, STEP), {0, STEP // PAGE})

    def test_events_that_are_lost_are_said(self):
        status, _, errors = self.observe(sys.executable, "-c", FLOOD, self.path, system=True)
        self.assertEqual(status, 0, errors)
        self.assertRegex(errors, rb"\d+ reads came faster than they could be noted")

    def test_two_capabilities_are_enough(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give up capabilities one by one")
        with as_program(self.folder, "setpriv --bounding-set=-all,+bpf,+perfmon --inh-caps=-all"):
            self.assertEqual(self.seen(STATIC, self.path, STEP), {0, STEP // PAGE})


class Program(System):
    """It is started as without the observer, and ends as it does without."""

    def both(self, *words: object, **options):
        found = self.observe(*words, system=True, **options)
        self.assertEqual(self.run_with_plan(*words, system=True, **options), found)
        return found

    def test_statuses_and_signals(self):
        self.assertEqual(self.both("sh", "-c", "cat; exit 41", stdin=b"text"), (41, b"text", b""))
        self.assertEqual(self.both("sh", "-c", "kill -TERM $$")[0], -signal.SIGTERM)
        self.assertEqual(self.both("sh", "-c", "kill -KILL $$")[0], -signal.SIGKILL)

    def test_a_program_that_cannot_be_started(self):
        self.observe(STATIC, self.path, system=True)
        broken = self.folder / "broken"
        broken.write_bytes(b"\x7fELF")
        broken.chmod(0o755)
        for program in ("/does/not/exist", broken):
            for run in (self.observe, self.run_with_plan):
                status, output, errors = run(program, system=True)
                self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
                self.assertIn(os.fsencode(program), errors)

    def test_the_program_sees_nothing_of_it(self):
        script = (
            "import os, signal\n"
            "print(sorted(os.listdir('/proc/self/fd')), os.getppid() == int(os.environ['EXPECTED']), os.getpgrp() == os.getpgid(os.getppid()),\n"
            "      [str(signal.getsignal(n)) for n in (1, 2, 3, 13, 15)], sorted(k for k in os.environ if 'DOVETAIL_PREFETCH' in k or k == 'LD_PRELOAD'),\n"
            "      signal.pthread_sigmask(signal.SIG_BLOCK, []))"
        )
        found = {}
        for way in ("plain", "observed", "followed"):
            if way != "plain":
                self.observe(STATIC, self.path, STEP, system=True)
            # What stands for the command has its own number in the variable.
            run = {
                "plain": lambda words: preload.wait_for(words, dict(os.environ)),
                "observed": lambda words: observe.observe(words, self.plan_file, True),
                "followed": lambda words: self.followed(words),
            }[way]

            def started(run=run):
                os.environ["EXPECTED"] = str(os.getpid())
                return run([sys.executable, "-c", script])

            found[way] = self._in_child(started)
        self.assertEqual(found["observed"], found["plain"])
        self.assertEqual(found["followed"], found["plain"])
        self.assertIn(b"True True", found["plain"][1])

    def followed(self, words):
        return prefetch_run.run(words, prefetch_run.Ways(plan=self.plan_file, system=True))


class Advised(System):
    def command(self, *words: object) -> list[str]:
        return [
            sys.executable,
            "-m",
            "dovetail.cli",
            "run",
            "--plan",
            str(self.plan_file),
            "--system",
            "--",
            *map(str, words),
        ]

    def start(self, *words: object) -> subprocess.Popen:
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), DOVETAIL_PREFETCH_GAP_KB="0")
        process = subprocess.Popen(self.command(*words), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        return process

    def observed(self) -> None:
        self.steps = [number * STEP for number in (5, 2, 7, 4)]
        self.assertEqual(self.observe(STATIC, self.path, *self.steps, system=True)[0], 0)
        self.forget(self.path)

    def test_pages_that_were_not_read_come_by_themselves(self):
        self.observed()
        waits = [word for step in self.steps for word in ("cached", step)]
        status, output, errors = self.run_with_plan(
            STATIC, self.path, *waits, system=True, environment={"DOVETAIL_PREFETCH_GAP_KB": "0"}
        )
        self.assertEqual((status, output, errors), (0, b"", b""))
        self.assertFalse(self.cached(6 * STEP))

    def test_also_of_mapped_files(self):
        self.observed()
        words = (UNSEEN, "mapped", self.path, 0)
        script = f"{' '.join(map(str, words))} && exec {STATIC} {self.path} {' '.join(f'cached {step}' for step in self.steps)}"
        self.assertEqual(self.run_with_plan("sh", "-c", script, system=True), (0, b"", b""))

    def test_a_file_that_has_changed_is_left_alone(self):
        self.observed()
        self.path.write_bytes(self.path.read_bytes()[::-1])
        self.forget(self.path)
        status, _, errors = self.run_with_plan(STATIC, self.path, system=True)
        self.assertEqual(status, 0)
        self.assertIn(b"not read ahead: " + os.fsencode(self.path), errors)
        self.assertFalse(self.cached(self.steps[0]))

    def test_the_report(self):
        self.observed()
        report = self.folder / "report.txt"
        waits = [word for step in self.steps for word in ("cached", step, step)]
        self.assertEqual(self.run_with_plan(STATIC, self.path, *waits, system=True, report=report)[0], 0)
        (line,) = [line for line in report.read_text().splitlines() if str(self.path) in line]
        # What waits for a page that is on its way already is not told.
        self.assertEqual(line.split()[:6], ["5", *"-----"])
        self.assertNotIn("were saved", report.read_text())

    def test_the_observer_is_killed_and_the_program_runs_to_its_end(self):
        self.observed()
        process = self.start(STATIC, self.path, "cached", self.steps[0], "wait", self.steps[1])
        # The page comes by the observer, so that the program runs when it is there.
        while not self.cached(self.steps[0]):
            self.assertIsNone(process.poll())
        observer = self.observer_of(process)
        # What a terminal sends to the group of the command is not for it.
        self.assertNotEqual(os.getpgid(observer), os.getpgid(process.pid))
        os.kill(observer, signal.SIGKILL)
        _, errors = hangs.finish(process, input=b"\n", timeout=120)
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"the observer has ended before the program", errors)

    def test_a_signal_to_the_command_reaches_the_program_and_ends_both(self):
        self.observed()
        process = self.start(
            "sh", "-c", f"trap 'exit 9' TERM; {STATIC} {self.path} cached {self.steps[0]}; while :; do read x; done"
        )
        while not self.cached(self.steps[0]):
            self.assertIsNone(process.poll())
        process.terminate()
        hangs.finish(process, timeout=120)
        self.assertEqual(process.returncode, 9)

    def test_the_observer_ends_with_the_command(self):
        self.observed()
        process = self.start(STATIC, self.path, "cached", self.steps[0], "wait")
        while not self.cached(self.steps[0]):
            self.assertIsNone(process.poll())
        ends = os.pidfd_open(self.observer_of(process))
        self.addCleanup(os.close, ends)
        process.kill()
        process.wait()
        self.assertTrue(select.select([ends], [], [])[0])


class Missing(Case):
    """Without what is needed: a sentence, and no program that does not run."""

    def setUp(self):
        super().setUp()
        self.path = self.file("data", 2 * STEP)
        self.observe("cat", self.path)

    def check(self, sentence: bytes, **options) -> None:
        status, output, errors = self.observe("echo", "ran", system=True, **options)
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
        self.assertIn(sentence, errors)
        status, output, errors = self.run_with_plan("sh", "-c", "echo ran; exit 5", system=True, **options)
        self.assertEqual((status, output, errors.count(b"\n")), (5, b"ran\n", 1), errors)
        self.assertIn(b"runs without advice", errors)
        self.assertIn(sentence, errors)

    def test_the_program_is_not_installed(self):
        with mock.patch.object(system_observer, "PROGRAM", "dovetail-no-such-program"):
            self.check(b"dovetail-no-such-program is not installed")

    def test_it_ends_before_it_has_begun(self):
        for name, script, sentence in (
            ("loader", "echo 'error while loading shared libraries: libbpf.so.1' >&2; exit 127", b"libbpf.so.1"),
            ("silent", "exit 3", b"exit status 3"),
        ):
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            with mock.patch.object(system_observer, "_program", return_value=str(path)):
                self.check(sentence)

    def test_without_privilege(self):
        with as_program(self.folder, "setpriv --bounding-set=-all --inh-caps=-all" if os.geteuid() == 0 else ""):
            self.check(b"CAP_BPF and CAP_PERFMON")

    def test_without_a_description_of_the_kernels_types(self):
        hidden = 'unshare --mount sh -c \'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"\''
        if os.geteuid() != 0 or self.run_as_it_is("unshare", "--mount", "true")[0] != 0:
            self.skipTest("no namespace can be made here")
        with as_program(self.folder, hidden):
            self.check(b"BTF")

    def test_it_ends_when_the_program_is_about_to_begin(self):
        path = self.folder / "observer"
        path.write_text(f"#!{sys.executable}\n{LEAVES}")
        path.chmod(0o755)
        with mock.patch.object(system_observer, "_program", return_value=str(path)):
            for run in (self.run_with_plan, self.observe):
                status, output, errors = run("sh", "-c", "echo ran; exit 5", system=True)
                self.assertEqual((status, output, errors.count(b"\n")), (5, b"ran\n", 1), errors)
                self.assertIn(b"the observer has ended before the program", errors)

    def test_a_signal_while_an_observer_hangs_ends_what_waits(self):
        plan = self.plan_file.read_bytes()
        for target in ("program", "os.getppid()"):
            path = self.folder / "observer"
            path.write_text(f"#!{sys.executable}\n{HANGS.format(target=target)}")
            path.chmod(0o755)
            with mock.patch.object(system_observer, "_program", return_value=str(path)):
                for run in (self.run_with_plan, self.observe):
                    self.plan_file.write_bytes(plan)
                    with mock.patch.object(system_observer, "_SECONDS", 1.0):
                        status, output, _ = run("sleep", "60", system=True)
                    self.assertEqual((status, output), (-signal.SIGTERM, b""), target)

    def test_many_open_descriptors(self):
        words = (
            sys.executable,
            "-c",
            "import os; [os.dup(1) for _ in range(1100)]; from dovetail.cli import main; main()",
        )
        status, output, errors = self.run_as_it_is(
            *words, "run", "--plan", self.plan_file, "--system", "--", "echo", "ran"
        )
        self.assertEqual((status, output, errors), (0, b"ran\n", b""))

    def test_only_files_of_the_plan_are_opened(self):
        plan = replay.compact(read_plan(self.plan_file), 1 << 20)
        self.assertEqual([file.path for file in plan.files], [str(self.path)])
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        other = self.file("other", 2 * STEP)
        with preload.shared_memory("plan", plan.content, len(plan.content)) as (memory, _):
            for paths in ([other], [fifo, self.folder, "/dev/zero", "/does/not/exist"]):
                with self.assertRaisesRegex(system_observer.Unavailable, "no file of the plan"):
                    system_observer.started(system_observer.Memories(memory, [str(path) for path in paths])).__enter__()
            with system_observer.started(system_observer.Memories(memory, [str(self.path)])):
                pass

    def test_options_that_do_not_go_together(self):
        status, output, errors = self.dovetail("run", "--system", "--advised", "--", "echo", "ran")
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
        self.assertIn(b"--system", errors)


if __name__ == "__main__":
    why = unavailable()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main(verbosity=2)
