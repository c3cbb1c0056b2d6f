"""What the tests of observed programs share: folders with a device behind them, the commands, and programs with and without them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"]).resolve()
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts"), str(BUILD / "python")]

import hangs  # noqa: E402 (behind the path to it)

try:
    from dovetail import (
        advisor,
        detect,
        device_rates,
        device_requests,
        free_memory,
        inside_counts,
        mapped_ahead,
        mapped_pages,
        memory_watch,
        mounts,
        observation,
        observe,
        open_log,
        page_cache,
        plan_show,
        prefetch_run,
        prefetch_status,
        prefetch_trace,
        preload,
        read_ahead_limits,
        replay,
        series,
        series_ahead,
        system_observer,
    )  # fmt: skip
    from dovetail.plan import Extent, Plan, PlanError, PlannedDevice, PlannedFile
    from dovetail.plan import read as read_plan
    from dovetail.plan import write as write_plan
    from dovetail.prefetch_run import Ways
    from dovetail.run_description import Description
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)

__all__ = [
    "BUILD", "CACHED", "PAGE", "Case", "Description", "Extent", "Plan", "PlanError", "PlannedDevice", "PlannedFile", "Ways", "advisor", "detect", "device_rates", "device_requests", "free_memory", "hangs", "inside_counts", "mapped_ahead", "mapped_pages", "memory_watch", "mounts", "need", "observation", "observe", "open_log", "page_cache", "pages_stay", "plan_show", "prefetch_status", "prefetch_trace", "preload", "read_ahead_limits", "read_plan", "replay", "series", "series_ahead", "system_observer", "write_plan",
]  # fmt: skip
PAGE = os.sysconf("SC_PAGESIZE")
# The beginning of programs that look at the page cache, in a file that `map_file` has mapped; they touch none of its pages. `cached(memory, offset, length)`
# counts the pages that are there. `arrived` says whether each is there, or was until the kernel dropped it: it may do so though it has memory
# enough (DAMON). Such a page leaves a trace that `cachestat` counts until the file is dropped from the cache on purpose. Where there is no
# `cachestat`, a page counts that was there at some time since it was first asked for.
CACHED = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None)
map_of = libc.mmap
map_of.restype, map_of.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
descriptors = {}
def map_file(descriptor):
    size = os.fstat(descriptor).st_size
    memory = map_of(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    descriptors[memory] = descriptor
    return memory
def pages(memory, offset, length):
    state = (ctypes.c_ubyte * (length // 4096))()
    assert libc.mincore(ctypes.c_void_p(memory + offset), ctypes.c_size_t(length), state) == 0
    return [each & 1 for each in state]
def cached(memory, offset, length=4096):
    return sum(pages(memory, offset, length))
seen = {}
def arrived(memory, offset, length=4096):
    counts = (ctypes.c_uint64 * 5)()  # of pages: cached or on their way there, dirty, being written, evicted, evicted lately
    cachestat = 451
    if libc.syscall(cachestat, descriptors[memory], (ctypes.c_uint64 * 2)(offset, length), counts, 0) == 0:
        return counts[3] + cached(memory, offset, length) >= length // 4096
    place = memory, offset, length
    seen[place] = [before | now for before, now in zip(seen.get(place, [0] * (length // 4096)), pages(*place))]
    return all(seen[place])
"""


def pages_stay() -> bool:
    """Whether this kernel leaves pages in memory as long as there is enough of it. DAMON, if it was told to, does not."""
    names = (thread / "comm" for thread in Path("/proc").glob("[0-9]*"))
    with contextlib.suppress(OSError):
        return not any(name.read_text().startswith("kdamond") for name in names if name.exists())
    return True


class Case(unittest.TestCase):
    sequences_are_left = False
    rates_are_measured = False  # what a plan does must not depend on the disk of the tests

    def setUp(self):
        # Not in the temporary folder, which may lie in memory.
        self.folder = Path(tempfile.mkdtemp(prefix="prefetch-test-", dir=BUILD))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.plan_file = self.folder / "plan.json"
        # Whatever a program reads: most of what the tests read is in sequence, or small.
        if not self.sequences_are_left:
            left = mock.patch.object(replay, "is_left_to_the_system", return_value=False)
            left.start()
            self.addCleanup(left.stop)
        if not self.rates_are_measured:
            unmeasured = mock.patch.object(device_rates, "add")
            unmeasured.start()
            self.addCleanup(unmeasured.stop)

    def file(self, name: str, size: int, seed: int = 1) -> Path:
        path = self.folder / name
        path.write_bytes(random.Random(seed).randbytes(size))
        return path

    def run_as_it_is(self, *words: object, **options: object):
        """Status, output and errors."""
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), **options.pop("environment", {}))
        done = hangs.run(
            [str(word) for word in words],
            cwd=self.folder, env=environment, input=options.pop("stdin", b""), timeout=120, text=False, **options,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def dovetail(self, *words: object, **options: object):
        """The command as a user calls it."""
        return self.run_as_it_is(sys.executable, "-m", "dovetail.cli", *words, **options)

    def _in_child(self, function, stdin: bytes = b"", environment: dict[str, str] | None = None):
        """What the command does, without the start of an interpreter for each. @raises hangs.Hung."""
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(stdin)
            files[0].seek(0)
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    for number, file in enumerate(files):
                        os.dup2(file.fileno(), number)
                    os.closerange(3, 256)
                    os.chdir(self.folder)
                    os.environ.update(environment or {})
                    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
                    preload.end_as(function())
                os._exit(70)
            stuck = hangs.stacks_unless_ended(child, 120)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            for file in files:
                file.seek(0)
            output, errors = files[1].read(), files[2].read()
            if stuck:
                raise hangs.Hung(f"{stuck}\nIt printed:\n{hangs.text_of(output)}{hangs.text_of(errors)}")
            return status, output, errors

    def observe(self, *words: object, system: bool = False, **options):
        return self._in_child(lambda: observe.observe([str(word) for word in words], self.plan_file, system), **options)

    def run_in(
        self, ways: prefetch_run.Ways, *words: object, report: Path | None = None, trace: Path | None = None, **options
    ):
        given = [str(word) for word in words]
        return self._in_child(lambda: prefetch_run.run(given, ways, report, trace), **options)

    def run_with_plan(self, *words: object, system: bool = False, **options):
        return self.run_in(Ways(plan=self.plan_file, system=system), *words, **options)

    def run_with_detection(self, *words: object, plan: bool = False, **options):
        return self.run_in(Ways(plan=self.plan_file if plan else None, detection=True), *words, **options)

    def run_with_rules(self, rules: dict, *words: object, **options):
        """`rules`: of the configuration."""
        return self.run_in(Ways(configuration=self.configuration(rules)), *words, **options)

    def advisor_socket(self) -> str:
        """One of its own, for all that this process starts."""
        # The path of a socket is limited to 107 bytes.
        short = tempfile.mkdtemp(prefix="dovetail-", dir="/tmp")
        self.addCleanup(shutil.rmtree, short)
        environment = mock.patch.dict(os.environ, DOVETAIL_ADVISORD_SOCKET=f"{short}/socket")
        environment.start()
        self.addCleanup(environment.stop)
        return f"{short}/socket"

    def start_advisor(self, rules: Path, *options: str) -> subprocess.Popen:
        """At that socket, ready. It is killed at the end of the test."""
        words = [sys.executable, "-m", "dovetail.cli", "advisord", "--configuration", str(rules), *options]
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
        process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_advisor, process)
        self.assertEqual(process.stdout.readline(), f"dovetail advisord: at {os.environ['DOVETAIL_ADVISORD_SOCKET']}\n")
        return process

    def end_advisor(self, process: subprocess.Popen) -> None:
        if process.poll() is None:
            process.kill()
        process.communicate()

    def configuration(self, rules: dict) -> Path:
        path = self.folder / "advice.json"
        path.write_text(json.dumps(rules, indent=2))
        return path

    def show(self, picture: Path | None = None):
        return self._in_child(lambda: plan_show.show(self.plan_file, picture))

    def forget(self, *files: Path) -> None:
        """Takes files out of the page cache."""
        for file in files:
            descriptor = os.open(file, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)

    def plan(self) -> dict:
        return json.loads(self.plan_file.read_text())

    def extents_of(self, path: Path) -> list[tuple[int, int]]:
        for file in self.plan()["files"]:
            if file["path"] == str(path):
                return [(extent["offset"], extent["bytes"]) for extent in file["extents"]]
        return []

    def same_thrice(self, *words: object, forget: tuple[Path, ...] = (), **options: object):
        """What the program gives as it is, and must give observed and with the plan as well."""
        plain = self.run_as_it_is(*words, **options)
        self.assertEqual(self.observe(*words, **options), plain)
        self.forget(*forget)
        self.assertEqual(self.run_with_plan(*words, **options), plain)
        return plain


def need(case: unittest.TestCase, program: str) -> str:
    found = shutil.which(program)
    if found is None:
        case.skipTest(f"{program} is not installed")
    return found
