"""The command line of dovetail-tiom: as documented, on every engine, killed at its first line, and fed with anything."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from pathlib import Path

from tiom_support import (
    BLOCK,
    COMMON,
    SMALL,
    SOURCE,
    TIOM,
    check,
    file_options,
    hangs,
    lines_of,
    main,
    sweep_options,
    tests_in,
    tiom,
)

ENGINES = ("auto", "uring", "aio", "threads")


def test_one_point_as_it_is_usually_asked_for(folder: Path) -> None:
    path = folder / "data"
    options = f"--mode mix --variant blocking --pattern rw --block 128K --compute 1 --series 4 --size 64M --file {path}"
    result = json.loads(tiom(*options.split(), "--time-limit", "5", "--json").stdout)
    point = {"mode": "mix", "pattern": "rw", "block": 131072, "compute_ms": 1.0, "series": 4, "operations": 512}
    check(result["point"] == point, f"it measured {result['point']}")
    settings = result["settings"]
    check((settings["size"], settings["time_limit"]) == (64 << 20, 5), f"it was set to {settings}")
    check(list(result["variants"]) == ["blocking"], f"it measured {list(result['variants'])}")
    check(all(run["operations"] == 512 or not run["complete"] for run in result["runs"]), f"{result['runs']}")
    check(result["model"]["seconds"] > 0, "nothing to compare with")
    check(path.stat().st_size == 64 << 20, "the file has another size")


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_help_names_every_option_and_each_is_understood(folder: Path) -> None:
    text = tiom("--help").stdout
    named = options_in(text)
    promised = {
        "mode",
        "variant",
        "pattern",
        "block",
        "compute",
        "series",
        "size",
        "file",
        "time-limit",
        "json",
        "sweep",
    }
    check({f"--{name}" for name in promised} <= named, f"--help names only {sorted(named)}")
    source = (SOURCE / "tools" / "tiom" / "options.cpp").read_text()
    declared = set(re.findall(r'(?:add_(?:option|flag)|set_version_flag)\("(--[a-z-]+)"', source)) | {"--help"}
    check(named == declared, f"only one of --help and the program has {named ^ declared}")
    of_devices = options_in((SOURCE / "tools" / "tiom" / "sweep_devices.py").read_text())
    documented = options_in((SOURCE / "docs" / "tiom.md").read_text()) - (of_devices - declared)
    check(documented <= named, f"docs/tiom.md has {documented - named}, which --help has not")
    for option in sorted(named - {"--help", "--file"}):
        # Neither a value of any option nor of a flag.
        said = tiom(f"{option}=~", status=2).stderr
        check("were not expected" not in said, f"{option} is unknown: {said}")
    check("--colour" in tiom("--colour", status=2).stderr, "which option is unknown?")


def test_every_engine_moves_the_same_bytes(folder: Path) -> None:
    tried = []
    for engine in ENGINES:
        options = (*file_options(folder), "--engine", engine, "--rounds", 1, "--verify", "--json")
        for pattern in ("rw", "sr"):
            done = hangs.run(
                [str(word) for word in (TIOM, *options, "--pattern", pattern, "--variant", "blocking,nonblocking")], timeout=200,
            )  # fmt: skip
            if done.returncode == 2 and f'"{engine}" was asked for' in done.stderr:
                print(f"not here: {done.stderr.strip()}")
                break
            check(done.returncode == 0, f"{engine}: {done.returncode}\n{done.stderr}")
            result = json.loads(done.stdout)
            check(result["settings"]["engine"] == engine, f"{engine}: measured {result['settings']['engine']}")
            check(all(run["complete"] for run in result["runs"]), f"{engine} {pattern}: not complete")
            tried.append(engine)
    check({"auto", "threads"} <= set(tried), f"only {tried} work")
    said = tiom(*file_options(folder), "--engine", "steam", status=2).stderr
    check(all(word in said for word in ("--engine", "steam", *ENGINES)), said)


def test_a_sweep_killed_in_its_first_line_can_begin_again(folder: Path) -> None:
    output = folder / "sweep"
    lines = output / "points.jsonl"
    command = [str(word) for word in (TIOM, *sweep_options(folder), "--confirm", 0)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not lines.exists():
        check(process.poll() is None, "it ended without a line")
    process.send_signal(signal.SIGKILL)
    process.wait()
    plan = lines.read_text()
    if not lines_of(folder):
        print(f"it had written {len(plan)} bytes of its first line")
    # However much of the line there is.
    whole = plan.split("\n")[0] + "\n" if "\n" in plan else '{"format": "dovetail-tiom-sweep", "points": []}\n'
    for part in (0, 1, len(whole) // 2, len(whole) - 1):
        lines.write_text(whole[:part])
        said = tiom("--resume", output, "--no-plots", status=2).stderr
        check("holds no sweep" in said and f"--output {output}" in said, said)
    lines.write_text(whole[: len(whole) // 2])
    short = ("--size", "256K", "--block", "4K", "--compute", 1, "--series", 2, "--rounds", 1, "--no-plots")
    tiom("--sweep", "--output", output, "--file", folder / "data", *short, "--confirm", 0, *COMMON)
    entries = [json.loads(line) for line in lines_of(folder)]
    check(len(entries) == 1 + len(entries[0]["points"]), "it has not measured every point once")
    check("error" not in entries[-1], f"it has failed: {entries[-1]}")


def test_anything_is_run_or_refused(folder: Path) -> None:
    seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 32)))
    print(f"DOVETAIL_TEST_SEED={seed}")
    generator = random.Random(seed)
    names = sorted(
        options_in(tiom("--help").stdout) - {"--help", "--sweep", "--output", "--resume", "--budget", "--curve"}
    )
    values = ("0", "1", "2", "-1", "4K", "8K", "4K,8K", "4K-16K", "1e9", "nan", "inf", "", " ", "x", "2x", "0x", "1,1", "mix",
              "fjc", "rr", "blocking", "standalone,blocking", "openmp", "threads", "ä", "9" * 30, "--", "-", "1K-", "%s")  # fmt: skip
    precious = folder / "precious"
    precious.write_text("not to be touched")
    ended = {0: 0, 1: 0, 2: 0}
    # What would be a long run is as well a short one.
    usual = {"--block": BLOCK, "--calibration": 1000, "--no-model": None, "--size": BLOCK * 4, "--operations": 4,
             "--time-limit": "0.05", "--rounds": 1, "--compute": 1, "--workers": 2, "--series": 2}  # fmt: skip
    flags = {"--direct", "--buffered", "--verify", "--no-plots", "--no-model", "--json"}
    turns = 25 if SMALL else 200
    # However many it takes until both have happened; some with few changes, of which more are run.
    while sum(ended.values()) < turns or not (ended[0] and ended[2]):
        check(sum(ended.values()) < 10 * turns, f"only one of the two happens: {ended}")
        chosen = dict(usual, **{"--file": generator.choice((folder / "data", folder / "data", precious))})
        for name in generator.sample(
            [name for name in names if name not in ("--file", "--overwrite")], generator.choice((0, 1, 2, 2))
        ):
            chosen[name] = None if name in flags else generator.choice(values)
        words = [str(word) for option in chosen.items() for word in option if word is not None]
        if generator.randrange(8) == 0:
            words.pop(generator.randrange(len(words)))
        # A word may be taken for the name of a file.
        done = hangs.run([TIOM, *map(str, words)], timeout=200, cwd=folder)
        what = f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode in ended, what)
        check(done.returncode == 0 or done.stderr.startswith("dovetail-tiom: "), what)
        check(precious.read_text() == "not to be touched", what)
        ended[done.returncode] += 1
    print(f"{ended[0]} were run, {ended[2]} refused, {ended[1]} failed")


if __name__ == "__main__":
    main(tests_in(globals()))
