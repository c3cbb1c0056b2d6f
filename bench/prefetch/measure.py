"""Programs as they are, with a plan, by rules, and with detection. Each launch measures one or more rounds of them in turn.

read: so many reads of a pattern (reader.c), cold unless --cached, from a disk of so many MB/s and requests a second. Seconds, and what the disk saw.
followed: as read, of a program that is linked statically, with `--system`.
processes: so many readers of one file at once, as they are and with one advisor for all of them; seconds of the slowest.
tasks: tasks that each read a block and compute, one after the other (tasks.cpp), from the same disk: with DOVETAIL_PREFETCH_TASKS=0 (as_it_is) and 1, beside
a thread that reads in exactly that order, and with all cached before. "share": the time beside the thread over the time with.
calls: a pread of one cached byte, ns above the C library's: of a file that no plan is about, of one in a plan, while it is observed, and with detection, of
the same byte again and of bytes at random.
system: the same with `--system`, in ns above the same program as it is: of a file that no plan is about, while it is observed, and with detection of a file that is too small
and of one that is watched; the same byte again, and bytes at random.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from device_unavailable import DeviceUnavailable  # noqa: E402 (beside this folder)
from harness.script import report, report_wrong  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

# Bytes of a file for each read, in pieces; the clusters of "strided" leave out more.
SPREAD = {"strided": 1.25, "near": 1.25, "twice": 0.5, "grows": 0.5}
PATTERNS = ("strided", "near", "sequential", "backward", "random", "twice", "again", "files", "grows")
WAYS = ("as_it_is", "with_plan", "rules", "detect")
# As the paper's measurements (section 5.1.2): four blocks of 4 MiB ahead, eight kept, of the whole file.
RULE = {"BlockSize": 4 << 20, "CacheSize": 8, "ReadAheadSize": 4, "WillNeed": {"Offset": 0, "Length": 0}}
Metrics = dict[str, list[float]]


class Wrong(Exception):
    """What was measured cannot be right."""


class Programs:
    def __init__(self, build: Path) -> None:
        self.reader = [str(build / "bin" / "prefetch_reader")]
        self.static_reader = [str(build / "bin" / "prefetch_reader_static")]
        self.tasks = str(build / "bin" / "prefetch_tasks")
        self.command = [sys.executable, "-m", "dovetail.cli"]
        # The advisor is found in the build.
        self._own = {"PYTHONPATH": str(build / "python"), "DOVETAIL_BUILD_DIR": str(build)}

    def output(self, *words: object, **variables: str) -> list[str]:
        """The words that it prints."""
        return self.output_of(*words, **variables).split()

    def output_of(self, *words: object, **variables: str) -> str:
        environment = {**os.environ, **self._own, **variables}
        done = subprocess.run(
            [str(word) for word in words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Wrong(f"{' '.join(map(str, words))}: exit status {done.returncode}: {done.stderr}")
        return done.stdout

    def outputs(self, count: int, *words: object) -> list[str]:
        """Of so many at once: the checksum, which must be the same, and the most seconds."""
        with ThreadPoolExecutor(count) as pool:
            done = list(pool.map(lambda _: self.output(*words), range(count)))
        if len({checksum for checksum, _ in done}) != 1:
            raise Wrong(f"the checksums are {done}")
        return [done[0][0], max((seconds for _, seconds in done), key=float)]

    @contextlib.contextmanager
    def advisor(self, rules: Path) -> Iterator[None]:
        words = [*self.command, "advisord", "--configuration", str(rules), "--stay"]
        with subprocess.Popen(words, env={**os.environ, **self._own}, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise Wrong("the advisor does not start")
            try:
                yield
            finally:
                process.terminate()

    def dovetail(self, *words: object) -> list[str]:
        return self.output(*self.command, *words)


@contextlib.contextmanager
def little_memory(megabytes: int) -> Iterator[list[str]]:
    """Words before a program that is to have so much memory, with its page cache; 0: as much as there is."""
    if megabytes == 0:
        yield []
        return
    group = Path(f"/sys/fs/cgroup/memory/dovetail-bench-{os.getpid()}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(megabytes << 20))
    except OSError as error:
        raise DeviceUnavailable(f"{group}: {error.strerror}") from error
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        group.rmdir()


def forget(*files: Path) -> None:
    """Takes files out of the page cache."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def fill(file: Path, size: int) -> None:
    block = os.urandom(min(size, 4 << 20))
    with file.open("wb") as out:
        for at in range(0, size, len(block)):
            out.write(block[: size - at])


def make_data(data: Path, arguments: argparse.Namespace) -> None:
    if arguments.pattern == "files":
        data.mkdir()
        for number in range(arguments.reads):
            fill(data / str(number), arguments.piece)
    else:
        fill(data, size_of_data(arguments))


def size_of_data(arguments: argparse.Namespace) -> int:
    size = int(arguments.reads * arguments.piece * SPREAD.get(arguments.pattern, 1)) + arguments.piece
    return size + (arguments.reads // 22 + 1) * (4 << 20 if arguments.pattern == "strided" else 0)


def seen_by(disk: SlowDisk) -> tuple[int, float]:
    """Reads so far, and their MB."""
    fields = Path(f"/sys/dev/block/{disk.device_number}/stat").read_text().split()
    return int(fields[0]), int(fields[2]) * 512 / 1e6


def measured(metrics: Metrics, name: str, disk: SlowDisk, start: Callable[..., list[str]], *words: object) -> str:
    """Adds the seconds of one run, and what the disk saw of it. Returns the checksum that it printed."""
    requests, megabytes = seen_by(disk)
    checksum, seconds = start(*words)
    after = seen_by(disk)
    metrics.setdefault(name, []).append(float(seconds))
    metrics.setdefault(f"{name}_requests", []).append(after[0] - requests)
    metrics.setdefault(f"{name}_mb", []).append(after[1] - megabytes)
    return checksum


def in_turn(ways: Sequence[str], number: int) -> list[str]:
    """None is always the first."""
    first = number % len(ways)
    return [*ways[first:], *ways[:first]]


def limit(disk: SlowDisk, arguments: argparse.Namespace, files: list[Path]) -> None:
    """Files that are cold, unless they are to be cached, on a disk that is slow from here on."""
    if not arguments.cached:
        forget(*files)
    disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
    # As `dovetail run` does: the first request ends what an idle disk with a limit lends.
    for file in files:
        os.stat(file)


def rules_for(data: Path, folder: Path) -> Path:
    path = folder / "advice.json"
    path.write_text(json.dumps({"File" if data.is_file() else "Directory": {"Path": str(data), **RULE}}))
    return path


@contextlib.contextmanager
def data_on_disk(arguments: argparse.Namespace) -> Iterator[tuple[SlowDisk, Path, Path, list[str]]]:
    """The disk; the data on it; a folder elsewhere, since what reads a plan there would use up what a limit lends at its start; and
    the words before a program that is to have less memory."""
    # A small file needs a page, and has an inode.
    on_disk = size_of_data(arguments) + (arguments.reads * 8192 if arguments.pattern == "files" else 0)
    on_disk += arguments.reads * arguments.piece if arguments.pattern == "grows" else 0
    with (
        SlowDisk(0, 0, (on_disk >> 20) * 9 // 8 + 64, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder) as folder,
        little_memory(arguments.memory) as limited,
    ):
        data = disk.path / "data"
        make_data(data, arguments)
        os.sync()
        yield disk, data, Path(folder), limited


def processes(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    with data_on_disk(arguments) as (disk, data, folder, limited):
        rules = rules_for(data, folder)
        sizes = (arguments.reads, arguments.piece, arguments.compute)
        command = [*limited, *programs.reader, "read", arguments.pattern, data, *sizes]
        os.environ["DOVETAIL_ADVISORD_SOCKET"] = f"{folder}/socket"
        for number in range(arguments.repeat):
            sums = set()
            for name in in_turn(("as_it_is", "advised"), number):
                limit(disk, arguments, [data])
                with contextlib.ExitStack() as stack:
                    words = command
                    if name == "advised":
                        stack.enter_context(programs.advisor(rules))
                        words = [*programs.command, "run", "--advised", "--", *command]
                    start = functools.partial(programs.outputs, arguments.processes)
                    sums.add(measured(metrics, name, disk, start, *words))
            if len(sums) != 1:
                raise Wrong(f"the checksums are {sums}")
            metrics.setdefault("ratio", []).append(metrics["advised"][-1] / metrics["as_it_is"][-1])
    return metrics


def read(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    with data_on_disk(arguments) as (disk, data, folder, limited):
        plan = folder / "plan.json"
        is_followed = arguments.way == "followed"
        system = ["--system"] if is_followed else []
        command = [
            *(programs.static_reader if is_followed else programs.reader),
            "read",
            arguments.pattern,
            data,
            arguments.reads,
            arguments.piece,
            arguments.compute,
        ]
        # The plan has what the disk reads in the time of a request.
        disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
        programs.dovetail("observe", *system, "--output", plan, "--", *command)
        disk.set_bandwidth(0, 0)
        command.append(arguments.takes)
        nothing = folder / "nothing.json"
        nothing.write_text('{"dovetail_plan": 1, "program": ["none"], "files": []}')
        launched = [*programs.command, "run", "--plan", nothing, "--", *command]
        ways = {
            "as_it_is": launched if arguments.launched else command,
            "with_plan": [*programs.command, "run", *system, "--plan", plan, "--", *command],
            "rules": [*programs.command, "run", *system, "--configuration", rules_for(data, folder), "--", *command],
            "detect": [*programs.command, "run", *system, "--detect", "--", *command],
        }
        for number in range(arguments.repeat):
            sums = set()
            # In turn, and none is always the first.
            for name in in_turn(WAYS, number):
                if arguments.cached:
                    programs.output(*command)
                limit(disk, arguments, [data] if data.is_file() else list(data.iterdir()))
                sums.add(measured(metrics, name, disk, programs.output, *limited, *ways[name]))
            if len(sums) != 1:
                raise Wrong(f"the checksums are {sums}")
            for name in WAYS[1:]:
                metrics.setdefault(f"{name}_ratio", []).append(metrics[name][-1] / metrics["as_it_is"][-1])
    return metrics


def tasks(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    disk = SlowDisk(0, 0, (arguments.reads * arguments.piece >> 20) * 9 // 8 + 64, arguments.folder)
    with disk:
        data = disk.path / "data"
        fill(data, arguments.reads * arguments.piece)
        os.sync()
        if arguments.read_ahead:
            Path(f"/sys/class/bdi/{disk.device_number}/read_ahead_kb").write_text(str(arguments.read_ahead))
        order = "random" if arguments.pattern == "random" else "forward"
        chained = "free" if arguments.pattern == "free" else "tasks"
        ways = {
            "as_it_is": (chained, "0"),
            "with_graph": (chained, "1"),
            "reader": ("reader", "0"),
            "cached": (chained, "0"),
        }
        if arguments.cached:
            ways = {"as_it_is": (chained, "0"), "with_graph": (chained, "1")}
        for number in range(arguments.repeat):
            sums = set()
            for name in list(ways) if number % 2 == 0 else reversed(list(ways)):
                way, ahead = ways[name]
                disk.set_bandwidth(0, 0)
                if arguments.cached or name == "cached":
                    data.read_bytes()
                else:
                    forget(data)
                disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
                os.stat(data)
                words = [programs.tasks, data, arguments.reads, arguments.piece, int(arguments.compute), order, way]
                start = functools.partial(programs.output, DOVETAIL_PREFETCH_TASKS=ahead)
                sums.add(measured(metrics, name, disk, start, *words))
            if len(sums) != 1:
                raise Wrong(f"the checksums are {sums}")
            metrics.setdefault("ratio", []).append(metrics["with_graph"][-1] / metrics["as_it_is"][-1])
            if "reader" in metrics:
                metrics.setdefault("share", []).append(metrics["reader"][-1] / metrics["with_graph"][-1])
    return metrics


def calls(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    # Where there is a device: nothing is observed of files in memory.
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder or os.getcwd()) as folder:
        files = [Path(folder) / name for name in ("planned", "other", "detected")]
        for file in files:
            file.write_bytes(os.urandom(1 << 16 if file.name != "detected" else 1 << 24))
        plan = Path(folder) / "plan.json"
        programs.dovetail("observe", "--output", plan, "--", *programs.reader, "calls", files[0], 1)
        command = [*programs.reader, "calls"]
        for _ in range(arguments.repeat):
            for name, file in (("extra_ns", files[1]), ("planned_ns", files[0])):
                plain, extra = programs.dovetail("run", "--plan", plan, "--", *command, file, arguments.pairs)
                metrics.setdefault(name, []).append(float(extra))
                metrics.setdefault("libc_ns", []).append(float(plain))
            for name, pattern in (("detect_ns", "calls"), ("detect_random_ns", "random_calls")):
                words = [*programs.reader, pattern, files[2], arguments.pairs]
                _, extra = programs.dovetail("run", "--detect", "--", *words)
                metrics.setdefault(name, []).append(float(extra))
            observed = Path(folder) / "observed.json"
            _, extra = programs.dovetail(
                "observe", "--output", observed, "--", *command, files[1], min(arguments.pairs, 2000)
            )
            metrics.setdefault("observed_ns", []).append(float(extra))
    return metrics


def system(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder or os.getcwd()) as folder:
        planned, other = Path(folder) / "planned", Path(folder) / "other"
        for file in (planned, other):
            file.write_bytes(os.urandom(1 << 24))
        plan = Path(folder) / "plan.json"
        scratch = Path(folder) / "observed.json"
        # A plan that is not left to the system, which would need no observer.
        words = [*programs.reader, "read", "backward", planned, 64, 1 << 18, 0]
        try:
            programs.dovetail("observe", "--system", "--output", plan, "--", *words)
        except Wrong as reason:
            raise DeviceUnavailable(str(reason)) from reason
        followed = [*programs.command, "run", "--plan", plan, "--system", "--"]
        observed = [*programs.command, "observe", "--system", "--output", scratch, "--"]
        detected = [*programs.command, "run", "--detect", "--system", "--"]
        small = Path(folder) / "small"
        small.write_bytes(os.urandom(1 << 19))
        ways: dict[str, tuple[list[object], str, Path]] = {
            "extra_ns": ([*followed], "calls", other),
            "random_ns": ([*followed], "random_calls", other),
            "observed_ns": ([*observed], "calls", other),
            "observed_random_ns": ([*observed], "random_calls", other),
            "left_out_random_ns": ([*detected], "random_calls", small),
            "detected_random_ns": ([*detected], "random_calls", other),
        }
        for _ in range(arguments.repeat):
            for name, (before, pattern, file) in ways.items():
                command = [*programs.reader, pattern, file, min(arguments.pairs, 2000)]
                # Of other programs on the machine the quickest of a few has least.
                plain, more = (
                    min(float(programs.output(*words)[0]) for _ in range(3)) for words in (command, [*before, *command])
                )
                metrics.setdefault("libc_ns", []).append(plain)
                metrics.setdefault(name, []).append(more - plain)
    return metrics


def reported(measure: Callable[[], Metrics], as_json: bool) -> int:
    """Measures and prints. The exit status: 77 where this machine lacks what is needed."""
    try:
        metrics = measure()
    except (DeviceUnavailable, subprocess.SubprocessError) as reason:
        print(reason, file=sys.stderr)
        return 77
    except Wrong as reason:
        return report_wrong(str(reason), as_json)
    return report(metrics, as_json)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=("read", "followed", "processes", "tasks", "calls", "system"), default="read")
    parser.add_argument(
        "--pattern",
        choices=(*PATTERNS, "free"),
        default="strided",
        help="of tasks: random, free (all ready at once), or else in order",
    )
    parser.add_argument("--reads", type=int, default=4400)
    parser.add_argument("--piece", type=int, default=250_000, help="bytes of a read")
    parser.add_argument("--compute", type=float, default=0, help="microseconds after each read")
    parser.add_argument("--cached", action="store_true", help="all is in the page cache")
    parser.add_argument("--launched", action="store_true", help="as it is: under dovetail, which does nothing then")
    parser.add_argument("--bandwidth", type=float, default=200, help="MB/s of the disk; 0: no limit")
    parser.add_argument("--requests", type=int, default=500, help="a second; 0: no limit")
    parser.add_argument(
        "--read-ahead", type=int, default=0, help="KiB that the system reads ahead of tasks; 0: as it is"
    )
    parser.add_argument("--memory", type=int, default=0, help="MB for the program and its page cache; 0: no limit")
    parser.add_argument(
        "--takes", type=int, default=0, help="MB that the program itself takes half-way, for a quarter of its reads"
    )
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=5000, help="of batches of calls")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.reads, arguments.piece, arguments.repeat, arguments.pairs, arguments.processes) < 1:
        parser.error("reads, bytes, pairs, processes and repeats are at least 1")
    programs = Programs(arguments.build_dir.resolve())
    ways = {"read": read, "followed": read, "processes": processes, "tasks": tasks, "calls": calls, "system": system}
    return reported(lambda: ways[arguments.way](programs, arguments), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
