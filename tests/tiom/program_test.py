"""dovetail-tiom as a user runs it: what it does to the file, what it prints, and what is left when it is killed."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy
from tiom_support import (
    BLOCK,
    BLOCKS,
    COMMON,
    MODES,
    PAGE,
    PATTERNS,
    PLAIN,
    SMALL,
    SOURCE,
    TIOM,
    VARIANTS,
    check,
    file_options,
    hangs,
    lines_of,
    main,
    result_of,
    sweep_options,
    tests_in,
    tiom,
)


def expected_words(written: bool) -> numpy.ndarray:
    """What the file holds, computed without the program: each word follows from its offset and its writer."""
    offsets = numpy.arange(0, BLOCK * BLOCKS, 8, dtype=numpy.uint64)
    with numpy.errstate(over="ignore"):
        words = (offsets + numpy.uint64(1)) * numpy.uint64(0xBF58476D1CE4E5B9)
        words += numpy.uint64(0x9E3779B97F4A7C15 if written else 0)
        words ^= words >> numpy.uint64(31)
        words *= numpy.uint64(0x94D049BB133111EB)
    words[offsets % PAGE == 0] = int.from_bytes(b"vdt-tiom", "little")
    return words.reshape(BLOCKS, BLOCK // 8)


def written_blocks(folder: Path) -> list[int]:
    """The blocks of the file that a transfer wrote; all others must be as they were prepared."""
    words = numpy.fromfile(folder / "data", dtype=numpy.uint64).reshape(BLOCKS, BLOCK // 8)
    written = (words == expected_words(True)).all(axis=1)
    prepared = (words == expected_words(False)).all(axis=1)
    check((written ^ prepared).all(), "a block of the file is neither as prepared nor as written")
    return [int(block) for block in numpy.flatnonzero(written)]


def test_every_mode_pattern_and_variant_transfers_the_right_blocks(folder: Path) -> None:
    variants = [*VARIANTS, *(["openmp"] if has_openmp() else [])]
    for mode in MODES:
        for pattern in PATTERNS:
            for operations in (9, BLOCKS):
                for variant in variants:
                    what = f"{mode} {pattern} {variant} {operations}"
                    options = ("--mode", mode, "--pattern", pattern, "--variant", variant, "--operations", operations)
                    result = result_of(*file_options(folder), *options, "--rounds", 1, "--verify")
                    (run,) = result["runs"]
                    computations = {"fjio": -(-operations // 4), "fjc": operations * 4}.get(mode, operations)
                    check(run["operations"] == operations, f"{what}: {run['operations']} transfers")
                    check(run["computations"] == computations, f"{what}: {run['computations']} computations")
                    check(run["complete"], f"{what} is not complete")
                    blocks = written_blocks(folder)
                    check(len(blocks) == (operations if pattern in ("sw", "rw") else 0), f"{what}: wrote {blocks}")
                    if pattern == "sw":
                        check(blocks == list(range(operations)), f"{what}: wrote {blocks}")
                    elif pattern == "rw" and operations < BLOCKS:
                        check(blocks != list(range(operations)), f"{what}: the order is not random")
            if SMALL:
                break


def has_openmp() -> bool:
    # Without an output folder nothing is measured either way.
    refused = tiom("--sweep", "--file", "f", "--variant", "openmp", status=2).stderr
    check("--output" in refused or "without OpenMP" in refused, refused)
    return "--output" in refused


def test_buffered_files_engines_and_several_passes(folder: Path) -> None:
    for extra in (("--buffered",), ("--engine", "threads"), ("--operations", 5 * BLOCKS)):
        for pattern in ("rw", "rr"):
            result = result_of(
                *file_options(folder), *extra, "--pattern", pattern, "--verify", "--variant", ",".join(VARIANTS)
            )
            check(len(result["runs"]) == 4 * len(VARIANTS), "four rounds of each variant")
            check([run["variant"] for run in result["runs"]] == 4 * VARIANTS, "variants take turns")
            check(all(run["complete"] for run in result["runs"]), f"{extra}: not complete")


def documented(heading: str) -> set[str]:
    """The names in the first column of the table that follows a heading of docs/tiom.md."""
    text = (SOURCE / "docs" / "tiom.md").read_text()
    section = text.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    names: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        names.update(re.findall(r"`(\w+)`", row))
    return names


def test_json_has_exactly_the_documented_fields(folder: Path) -> None:
    arguments = [argument for argument in file_options(folder) if argument != "--no-model"]
    curve = folder / "curve.json"
    result = result_of(
        *arguments, "--variant", ",".join(VARIANTS), "--curve", curve, "--curve-time", 0.5, "--rounds", 2
    )
    check(curve.is_file(), "the curve was not saved")
    objects = {
        "Result of a point": result,
        "A point": result["point"],
        "A variant": {**result["variants"]["standalone"], **result["variants"]["blocking"]},
        "A run": result["runs"][0],
        "The model": result["model"],
        "The settings": result["settings"],
    }
    for heading, found in objects.items():
        names = documented(heading)
        check(names == set(found), f"{heading}: documented and printed differ in {names ^ set(found)}")


def test_the_baseline_is_the_faster_plain_variant(folder: Path) -> None:
    result = result_of(*file_options(folder), "--variant", ",".join(VARIANTS), "--rounds", 3)
    rates: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for run in result["runs"]:
        rates[run["variant"]].append(run["operations"] / run["seconds"])
    fastest = max(PLAIN, key=lambda name: statistics.median(rates[name]))
    check(result["baseline"] == fastest, f"{result['baseline']}, not {fastest}: {rates}")
    for name, figures in result["variants"].items():
        for field, base in (("speedup", "standalone"), ("over_baseline", fastest)):
            expected = name != base and not (field == "over_baseline" and name in PLAIN)
            check((field in figures) == expected, f"{name}: {field} in {sorted(figures)}")
            ratio = statistics.median(mine / other for mine, other in zip(rates[name], rates[base], strict=True))
            check(not expected or abs(figures[field] - ratio) < 1e-9 * ratio, f"{name}: {field} is not {ratio}")
    alone = result_of(*file_options(folder), "--variant", "blocking,threads", "--rounds", 1)
    check(alone["baseline"] == "threads", "the only plain variant")
    check("speedup" not in alone["variants"]["blocking"], "there is no standalone")
    check("over_baseline" in alone["variants"]["blocking"], "there is a baseline")


def test_a_time_limit_ends_a_run(folder: Path) -> None:
    options = ("--variant", "blocking", "--operations", 100000, "--rounds", 1, "--json")
    limit = 0.02
    while True:
        command = [str(word) for word in (TIOM, *file_options(folder), *options, "--time-limit", limit)]
        done = hangs.run(command, timeout=200)
        if done.returncode == 0:
            break
        # Nothing promises that this machine comes to the first transfer within it.
        check("before the first transfer" in done.stderr and limit < 20, done.stderr)
        limit *= 4
    (run,) = json.loads(done.stdout)["runs"]
    check(not run["complete"], f"100000 transfers in {limit} s?")
    check(0 < run["operations"] < 100000, f"{run['operations']} transfers")


def test_bad_input_is_refused(folder: Path) -> None:
    letters = folder / "letters"
    letters.write_text("to my grandmother")
    refused = tiom("--file", letters, *COMMON, status=2)
    check("--overwrite" in refused.stderr, refused.stderr)
    check(letters.read_text() == "to my grandmother", "the file was touched")
    check("regular" in tiom("--file", "/dev/null", *COMMON, status=2).stderr, "a device is not a file")
    check("--block" in tiom(*file_options(folder), "--block", "7", status=2).stderr, "which option?")
    many = tiom("--file", folder / "data", "--variant", "threads", "--series", 20000, *COMMON, status=2).stderr
    check("--variant threads" in many and "10000" in many, many)
    check("nosuch" in tiom("--file", folder / "nosuch" / "f", *COMMON, status=1).stderr, "which file?")
    check("holds no sweep" in tiom("--resume", folder, status=2).stderr, "nothing to resume")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "points.jsonl")
    check("pipe" in tiom("--resume", folder / "pipe", status=2).stderr, "a pipe holds no sweep")
    check("memory" in tiom("--file", letters, "--overwrite", "--size", "64M", "--block", "64M", "--series", "1000000",
                           "--operations", "1000000", *COMMON, status=2).stderr, "a million buffers of 64 MiB")  # fmt: skip


def test_a_killed_sweep_keeps_its_results_and_goes_on(folder: Path) -> None:
    process = subprocess.Popen(
        [TIOM, *map(str, sweep_options(folder)), "--confirm", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while len(lines_of(folder)) < 6 and process.poll() is None:
        check(time.monotonic() < deadline, "no five points in two minutes")
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = lines_of(folder)
    points = json.loads(before[0])["points"]
    check(6 <= len(before) < 1 + len(points), f"killed too late: {len(before)} lines of {1 + len(points)}")
    # As if it had been killed in the middle of a line.
    with (folder / "sweep" / "points.jsonl").open("a") as lines:
        lines.write('{"index": 17, "confir')
    tiom(*sweep_options(folder), status=2)
    tiom("--resume", folder / "sweep", "--no-plots")
    after = lines_of(folder)
    check(after[: len(before)] == before, "results from before the kill have changed")
    entries = [json.loads(line) for line in after[1:]]
    check([entry["index"] for entry in entries] == list(range(len(points))), "each point once")
    check(all(entry["result"]["point"] == points[entry["index"]] | {"operations": entry["result"]["point"]["operations"]}
              for entry in entries), "results belong to other points")  # fmt: skip
    with (folder / "sweep" / "points.csv").open() as table:
        rows = list(csv.DictReader(table))
    check(len(rows) == len(points) * len(VARIANTS), f"{len(rows)} rows in the table")
    for row, entry in zip(rows[:: len(VARIANTS)], entries, strict=True):
        check(int(row["block"]) == entry["result"]["point"]["block"], "the table and the lines differ")
    summary = json.loads((folder / "sweep" / "summary.json").read_text())
    check(summary["measured"] == len(points), "the summary misses points")
    check(not (folder / "sweep" / "index.html").exists(), "--no-plots")


def test_a_sweep_within_a_budget_draws_maps(folder: Path) -> None:
    options = [option for option in sweep_options(folder) if option != "--no-model"]
    done = tiom(*options, "--budget", 4, "--curve-time", 1, "--pattern", "rw", "--mode", "mix")
    summary = json.loads((folder / "sweep" / "summary.json").read_text())
    check(
        set(summary) == documented("The summary"),
        f"not documented or not there: {set(summary) ^ documented('The summary')}",
    )
    check(summary["efficiency"]["blocking"]["count"] == 12, "efficiency of every point")
    plan = json.loads(lines_of(folder)[0])
    check(all(point["operations"] > 0 for point in plan["points"]), "the budget chose no work")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("no matplotlib: the maps are not looked at")
        check("report.py" in done.stderr, "how to draw the maps later")
        return
    maps = sorted(path.name for path in (folder / "sweep" / "maps").iterdir())
    check(len(maps) == 2 * (2 + 3 + 2 + 4), f"four kinds of maps for two numbers of series: {maps}")
    check(
        all((folder / "sweep" / "maps" / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for name in maps), "not a PNG"
    )
    check((folder / "sweep" / "index.html").read_text().count("data:image/png") == len(maps), "maps miss in the page")
    # Without Python everything but the maps is there.
    done = tiom("--resume", folder / "sweep", DOVETAIL_PYTHON="/nonexistent/python")
    check("report.py" in done.stderr, "how to draw the maps later")


def test_devices_are_swept_one_after_the_other_with_maps(folder: Path) -> None:
    script = SOURCE / "tools" / "tiom" / "sweep_devices.py"
    real = folder / "real"
    real.mkdir()
    point = ["--mode", "mix", "--pattern", "rw", "--block", "4K,8K", "--compute", "1", "--rounds", "1"]
    done = hangs.run(
        [sys.executable, script, "--output", folder / "all", "--real", real, "--program", TIOM, "--size", "1M"]
        + ["--budget", "4", "--", *point, "--curve-time", "1"],
        timeout=200,
        # Another Python in the path has no matplotlib; the one that runs the script may have it.
        env={name: value for name, value in os.environ.items() if name != "DOVETAIL_PYTHON"},
    )
    check(done.returncode == 0, f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    check((folder / "all" / "real" / "points.csv").is_file(), f"no results:\n{done.stdout}")
    check(not list(real.iterdir()), "the file that was transferred is left")
    has_matplotlib = importlib.util.find_spec("matplotlib") is not None
    drawn = (folder / "all" / "real" / "index.html").is_file()
    check(drawn == has_matplotlib, f"maps drawn: {drawn}, by a Python that has matplotlib: {has_matplotlib}")


if __name__ == "__main__":
    main(tests_in(globals()))
