#!/usr/bin/env python3
"""An h5py program writes compressed data sets while it computes: as it is, and with its writes in the background. The files must hold the same numbers.

The output folder gets a page (hdf5.html) and all numbers as JSON. Exit status: 1 if a run failed or the files differ, 2 for bad input, 130 if
interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demonstration"))

import demonstration  # noqa: E402
import page  # noqa: E402
from bar import Bar  # noqa: E402
from demonstration import RunFailed  # noqa: E402

PROGRAM = Path(__file__).with_name("steps.py")
AS_IT_IS, BESIDE = "as it is", "--hdf5"
MEANING = {
    AS_IT_IS: "the program alone: it compresses and writes, then computes on",
    BESIDE: "dovetail run --hdf5: tasks compress and write while it computes",
}
SIZES = {"large": (2048, 12, 3), "small": (128, 2, 1)}  # of a side, in steps; turns


def run(words: list[str], file: Path) -> tuple[str, float]:
    """What it printed, and its seconds with the bytes on the disk."""
    begun = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if file.exists():
        with open(file) as written:
            os.fsync(written.fileno())
    seconds = time.perf_counter() - begun
    if done.returncode != 0:
        raise RunFailed(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout, seconds


def differ(one: Path, other: Path) -> str | None:
    """The first data set that is not the same in both files."""
    import h5py

    with h5py.File(one) as first, h5py.File(other) as second:
        if set(first) != set(second):
            return "their names"
        return next((name for name in first if (first[name][...] != second[name][...]).any()), None)


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    demonstration.use_package(arguments.build_dir)
    size, steps, turns = SIZES["small" if arguments.small else "large"]
    bar = Bar({f"{way}, turn {turn + 1}": 1 for turn in range(turns) for way in MEANING})

    def say(text: str) -> None:
        bar.clear()
        print(text, flush=True)

    try:
        demonstration.say_if_busy(say)
        what = f"{steps} steps of {size} x {size} cells of 4 bytes, each a data set that is compressed (gzip)"
        say(f"job          {what}")
        seconds: dict[str, list[float]] = {way: [] for way in MEANING}
        files = {way: scratch / f"{number}.h5" for number, way in enumerate(MEANING)}
        before = {AS_IT_IS: [], BESIDE: ["-m", "dovetail", "run", "--hdf5", "--", sys.executable]}
        printed = set()
        for turn in range(turns):
            for way, file in files.items():
                bar.begin(f"{way}, turn {turn + 1}")
                file.unlink(missing_ok=True)
                said, took = run([sys.executable, *before[way], str(PROGRAM), str(file), str(size), str(steps)], file)
                printed.add(said)
                seconds[way].append(took)
                bar.end()
            wrong = differ(*files.values()) or (None if len(printed) == 1 else "what the program prints")
            if wrong is not None:
                raise RunFailed(f"the files of '{AS_IT_IS}' and '{BESIDE}' differ: {wrong}")
        rows = [page.Row(way, MEANING[way], seconds[way]) for way in MEANING]
        facts = [("program", f"examples/hdf5/{PROGRAM.name}, in h5py"), ("job", what), ("folder", str(output))]
        facts += [
            ("cores", str(len(os.sched_getaffinity(0)))),
            ("load", f"{os.getloadavg()[0]:.1f} in the last minute"),
        ]
        page.write(output / "hdf5.html", "An HDF5 program, as it is and with Dovetail", facts, rows)
        (output / "hdf5.json").write_text(json.dumps({"job": what, "seconds": seconds}, indent=1) + "\n")
        table = [("way", "median s", "fastest", "slowest")]
        table += [(row.name, *(f"{s:.2f}" for s in (row.median, min(row.seconds), max(row.seconds)))) for row in rows]
        say("\n" + "\n".join(demonstration.aligned(table)) + "\n\n" + page.conclusion(rows, rows[0]) + "\n")
        print(f"results      all {2 * turns} files hold the same numbers\npage         {output}/hdf5.html")
        page.show(output / "hdf5.html")
    finally:
        bar.clear()
    return 0


def main(words: list[str] | None = None) -> int:
    return demonstration.main(__doc__, demonstrate, words, installed=True)


if __name__ == "__main__":
    sys.exit(main())
