"""Programs that know nothing of Dovetail, from a slow disk: cold, with a plan (from within, and by the kernel's events), by the pattern of their reads, and
all cached. Each round measures all of them in turn.

Metrics: seconds of the program itself, without the start of `dovetail`, and requests and MB that the disk saw; "start", what `dovetail run` takes with a plan
of nothing; "share", the part that a plan saves of what a cached run saves. The programs themselves, and Dovetail, are in memory: only their data are cold.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from measure import Metrics, Programs, Wrong, in_turn, reported, seen_by  # noqa: E402 (beside this file)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)
from subjects import Subject, subjects  # noqa: E402 (beside this file)

# Says, behind what the program prints, how long it took.
TIMED = 'begun=$EPOCHREALTIME; "$@"; status=$?; echo "# $begun $EPOCHREALTIME"; exit $status'
NOTHING = '{"dovetail_plan": 1, "program": ["none"], "files": []}'


class Commands:
    """One program, and the words before it for each way."""

    def __init__(self, programs: Programs, subject: Subject, folder: Path, data: Path) -> None:
        self._programs, self._subject = programs, subject
        self._words = ["bash", "-c", TIMED, "bash", *subject.make(data)]
        os.sync()
        self._nothing = folder / "nothing.json"
        self._nothing.write_text(NOTHING)
        plans = {"with_plan": folder / "plan.json"} if subject.is_seen_from_within else {}
        plans["with_system_plan"] = folder / "system.json"
        detect = ["--detect"] if subject.is_seen_from_within else ["--detect", "--system"]
        self.ways: dict[str, list[object]] = {"as_it_is": [], "detect": detect, "cached": []}
        for way, plan in plans.items():
            how = ["--system"] if way == "with_system_plan" else []
            # A file that was just written may be cached in pages of 2 MiB. The kernel maps such a page as a whole, without an event that an observer sees.
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
            try:
                programs.output_of(*programs.command, "observe", *how, "--output", plan, "--", *self._words)
            except Wrong as reason:
                if not how:
                    raise
                print(f"without the kernel's events: {reason}", file=sys.stderr)
            else:
                self.ways[way] = ["--plan", plan, *how]

    def waken(self) -> None:
        """Programs, not data, into memory again."""
        self._programs.output_of(*self._subject.waken)
        self.launch(["--plan", self._nothing], ["true"])

    def launch(self, how: list[object], words: list[str] | None = None) -> tuple[str, float]:
        """What it prints, but for comments, and its own seconds."""
        chosen = self._words if words is None else words
        printed = self._programs.output_of(*([*self._programs.command, "run", *how, "--"] if how else []), *chosen)
        # HMMER, too, says in a comment how long it took.
        text = "\n".join(line for line in printed.splitlines() if not line.startswith("#"))
        times = [float(word) for word in printed.rpartition("#")[2].split()] if words is None else [0, 0]
        return text, times[1] - times[0]

    def start(self) -> float:
        begun = time.monotonic()
        self.launch(["--plan", self._nothing], ["true"])
        return time.monotonic() - begun


def measure(programs: Programs, subject: Subject, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    with (
        SlowDisk(0, 0, subject.megabytes, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder) as folder,
    ):
        # A plan has what the disk reads in the time of a request.
        disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
        commands = Commands(programs, subject, Path(folder), disk.path)
        for number in range(arguments.repeat):
            printed = set()
            for way in in_turn(list(commands.ways), number):
                disk.set_bandwidth(0, 0)
                if way == "cached":
                    commands.launch([])
                else:
                    Path("/proc/sys/vm/drop_caches").write_text("3\n")
                commands.waken()
                metrics.setdefault("start", []).append(commands.start())
                disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
                # As `dovetail run` does: the first request ends what an idle disk with a limit lends.
                os.listdir(disk.path)
                before = seen_by(disk)
                text, seconds = commands.launch(commands.ways[way])
                after = seen_by(disk)
                printed.add(text)
                metrics.setdefault(way, []).append(seconds)
                metrics.setdefault(f"{way}_requests", []).append(after[0] - before[0])
                metrics.setdefault(f"{way}_mb", []).append(after[1] - before[1])
            if len(printed) != 1:
                raise Wrong(f"what was printed differs: {printed}")
            for way in commands.ways:
                if way not in ("as_it_is", "cached"):
                    saved, most = (metrics["as_it_is"][-1] - metrics[other][-1] for other in (way, "cached"))
                    metrics.setdefault(f"{way}_share", []).append(saved / most)
    return metrics


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", choices=list(subjects(None, HERE)), default="git")
    parser.add_argument("--python", help="an interpreter that has uproot (default: this one)")
    parser.add_argument("--bandwidth", type=float, default=200, help="MB/s of the disk; 0: no limit")
    parser.add_argument("--requests", type=int, default=500, help="a second; 0: no limit")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("there is at least one repeat")
    programs = Programs(arguments.build_dir.resolve())
    subject = subjects(arguments.python, arguments.build_dir.resolve() / "bin")[arguments.program]
    return reported(lambda: measure(programs, subject, arguments), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
