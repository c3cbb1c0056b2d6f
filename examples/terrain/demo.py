#!/usr/bin/env python3
"""An h5py program runs as it is, is observed once, and then runs with the plan of its reads, by rules, and by their pattern. The cache is cold
each time.

Where one can be made (root), it reads from a disk of 200 MB/s and 500 requests a second, else from the real one. The output folder gets a picture of
the program's reads and all numbers as JSON. Exit status: 1 if a run failed or printed something else, 2 for bad input, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "devices"), str(ROOT / "examples" / "demonstration")]

import demonstration  # noqa: E402
from bar import Bar  # noqa: E402
from demonstration import RunFailed  # noqa: E402
from device_unavailable import DeviceUnavailable  # noqa: E402
from slow_disk import SlowDisk  # noqa: E402

PROGRAM = Path(__file__).with_name("terrain.py")
MB_PER_S, REQUESTS_PER_S = 200, 500
MEANING = {
    "as it is": "the program alone",
    "with its plan": "dovetail run --plan, after one run under dovetail observe",
    "by rules": "dovetail run --configuration: two blocks of 2 MiB ahead of it",
    "by its pattern": "dovetail run --detect",
}


class Demo:
    def __init__(self, arguments: argparse.Namespace, output: Path) -> None:
        self._output = output
        self._maps, self._places, self._rounds = (60, 2, 1) if arguments.small else (800, 4, 3)
        self._dovetail = [sys.executable, "-m", "dovetail.cli"]
        self._bar = Bar({"data": 6, "observe": 7, "runs": 16 * self._rounds, "picture": 3})

    def say(self, text: str) -> None:
        self._bar.clear()
        print(text, flush=True)

    def close(self) -> None:
        self._bar.clear()

    def _run(self, *words: object) -> tuple[str, float]:
        """What it prints, and its seconds."""
        command = [str(word) for word in words]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begun
        if done.returncode != 0:
            raise RunFailed(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout, seconds

    @contextlib.contextmanager
    def _disk(self, scratch: Path) -> Iterator[tuple[Path, Callable[[bool], None]]]:
        """The folder for the data, and what makes it slow (True) or as fast as it is."""
        size = self._maps * 280_000 // 1_000_000 * 5 // 4 + 64
        with contextlib.ExitStack() as stack:
            try:
                disk = stack.enter_context(SlowDisk(0, 0, size, scratch))
            except DeviceUnavailable as reason:
                self.say(f"note           no slow disk ({reason}): the data lie on the real one, where less is gained")
                yield scratch, lambda _: None
                return
            self.say(f"disk           {MB_PER_S} MB/s and {REQUESTS_PER_S} requests a second")
            limits = {True: (MB_PER_S, 0, REQUESTS_PER_S), False: (0, 0)}
            yield disk.path, lambda slow: disk.set_bandwidth(*limits[slow])

    def _forget(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)

    def demonstrate(self, scratch: Path) -> None:
        begun = time.monotonic()
        with self._disk(scratch) as (folder, slow):
            data, plan, rules = folder / "stack.h5", scratch / "plan.json", scratch / "advice.json"
            self._bar.begin("data")
            self._run(sys.executable, PROGRAM, "make", data, self._maps)
            self.say(
                f"data           {data.stat().st_size / 1e6:.0f} MB: {self._maps} maps of elevation, from matplotlib's"
            )
            self._bar.end()
            program = [sys.executable, PROGRAM, "analyse", data, self._places]
            rule = {"Path": str(data), "BlockSize": 2 << 20, "ReadAheadSize": 2, "CacheSize": 128, "WillNeed": {}}
            rules.write_text(json.dumps({"File": rule}))
            self._bar.begin("observe")
            self._forget(data)
            expected, _ = self._run(*self._dovetail, "observe", "--output", plan, "--", *program)
            self._bar.end()
            before = [*self._dovetail, "run"]
            ways = {
                "as it is": program,
                "with its plan": [*before, "--plan", plan, "--", *program],
                "by rules": [*before, "--configuration", rules, "--", *program],
                "by its pattern": [*before, "--detect", "--", *program],
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            self._bar.begin("runs")
            turns = [(number, way) for number in range(self._rounds) for way in ways]
            for done, (_, way) in enumerate(turns):
                self._bar.show(done / len(turns))
                self._forget(data)
                slow(True)
                printed, took = self._run(*ways[way])
                slow(False)
                if printed != expected:
                    raise RunFailed(f"{way}: the program printed {printed!r} in place of {expected!r}")
                seconds[way].append(took)
            self._bar.end()
            self._bar.begin("picture")
            self._run(*self._dovetail, "plan", "show", plan, "--picture", self._output / "reads.png")
            self._bar.end()
        rows = [{"way": way, "median_s": statistics.median(all_s), "all_s": all_s} for way, all_s in seconds.items()]
        (self._output / "prefetch.json").write_text(json.dumps({"runs": rows}, indent=1) + "\n")
        self.say(f"results        all {len(turns)} runs have printed the same")
        self.say("\n" + self._table(rows) + "\n")
        said = f"{self._output}/reads.png, the reads of the program over time; all numbers: prefetch.json"
        self.say(f"picture        {said}; {time.monotonic() - begun:.0f} s")

    def _table(self, rows: list[dict]) -> str:
        lines = [f"{'':14} {'median s':>9} {'fastest':>8} {'slowest':>8}"]
        for row in rows:
            all_s = row["all_s"]
            share = "" if row is rows[0] else f"{100 * row['median_s'] / rows[0]['median_s']:4.0f} %"
            times = f"{row['median_s']:9.2f} {min(all_s):8.2f} {max(all_s):8.2f}"
            lines.append(f"{row['way']:14} {times} {share:>7}  {MEANING[row['way']]}")
        return "\n".join(lines)


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    demonstration.use_package(arguments.build_dir)
    demo = Demo(arguments, output)
    try:
        demo.demonstrate(scratch)
        return 0
    finally:
        demo.close()


def main(words: list[str] | None = None) -> int:
    return demonstration.main(__doc__, demonstrate, words, installed=True)


if __name__ == "__main__":
    sys.exit(main())
