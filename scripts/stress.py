"""Repeats the tests in random order and with random seeds, beside a load that changes, for some time.

Each turn runs a few tests of random rooms, a random number of them at once. Meanwhile other processes compute, write to the disk and touch memory. A
test that fails is listed with its seed and its load. Exit status: 0 if none failed, 1 if one did, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ctest_listing import tests_of

# What competes with the tests. Each runs until it is killed.
LOADS = {
    "computes": "while True: pass",
    "computes and rests": "import time\nwhile True:\n    sum(range(20000)); time.sleep(0.001)",
    "writes and syncs": (
        "import os, tempfile\n"
        "with tempfile.TemporaryFile() as file:\n"
        "    while True:\n"
        "        os.pwrite(file.fileno(), bytes(1 << 20), 0); os.fsync(file.fileno())"
    ),
    "touches memory": "while True:\n    data = bytearray(256 << 20); data[::4096] = data[::4096]",
}
MOST_LOADS = 6
MOST_TESTS_IN_A_TURN = 12


def tests_that_share(build: Path, rooms: list[str]) -> list[str]:
    """The names of all tests that may run beside others."""
    return [
        test.name
        for test in tests_of(build)
        if not test.properties.get("RUN_SERIAL") and (not rooms or set(test.properties.get("LABELS", [])) & set(rooms))
    ]


@contextlib.contextmanager
def load(kinds: list[str]) -> Iterator[None]:
    """Other processes, as long as it is entered."""
    processes = [subprocess.Popen([sys.executable, "-c", LOADS[kind]]) for kind in kinds]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def turn(build: Path, names: list[str], chance: random.Random) -> str:
    """Runs some of the tests once. Returns what the failure was, or nothing."""
    seed = chance.randrange(1, 1 << 31)
    chosen = chance.sample(names, min(len(names), chance.randint(1, MOST_TESTS_IN_A_TURN)))
    kinds = chance.choices(list(LOADS), k=chance.randint(0, MOST_LOADS))
    at_once = chance.randint(1, 2 * (os.cpu_count() or 1))
    command = [sys.executable, str(Path(__file__).with_name("run_tests.py")), str(build), "--once"]
    command += ["-R", f"^({'|'.join(chosen)})$", "--parallel", str(at_once), "--schedule-random"]
    with load(kinds):
        # Beside such a load a large test may take longer than it is given; more turns find more than longer ones.
        environment = {**os.environ, "DOVETAIL_TEST_SEED": str(seed), "DOVETAIL_TEST_SCALE": "small"}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode == 0 or "0 passed, 0 failed" in ended.stdout:  # all that were chosen skipped themselves
        return ""
    return f"seed {seed}, {at_once} at once, beside {kinds}: {' '.join(chosen)}\n{ended.stdout}{ended.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=Path("build/release"))
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--rooms", nargs="+", default=[], help="all if none is named")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the load ends, too
    if not (arguments.build_dir / "CTestTestfile.cmake").is_file():
        parser.error(f"{arguments.build_dir} has no tests: `make stress` builds them first")
    names = tests_that_share(arguments.build_dir, arguments.rooms)
    if not names:
        parser.error(f"no tests in {', '.join(arguments.rooms)}")
    print(f"stress: seed {arguments.seed}, {len(names)} tests for {arguments.seconds:.0f} s", flush=True)
    chance = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    turns, failures = 0, []
    while time.monotonic() < end:
        turns += 1
        if failure := turn(arguments.build_dir, names, chance):
            failures.append(failure)
            print(f"stress: turn {turns} failed: {failure}", flush=True)
        elif turns % 20 == 0:
            print(f"stress: {turns} turns, {len(failures)} failed, {end - time.monotonic():.0f} s left", flush=True)
    print(f"stress: {turns} turns, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
