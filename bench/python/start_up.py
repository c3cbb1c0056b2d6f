"""How long a program takes from its start to the result of its first task, above an interpreter that does nothing."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.script import report  # noqa: E402 (beside this folder)

PROGRAMS = {
    "dovetail": "import dovetail as dt\nf = dt.task(lambda: 1)\nassert dt.wait(f()) == 1",
    "thread_pool": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n"
    "    assert pool.submit(lambda: 1).result() == 1",
}


def seconds_of(text: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", text], check=True)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=PROGRAMS, required=True)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for text in ("pass", PROGRAMS[arguments.runtime]):
        seconds_of(text)  # what is read from disk is read
    pairs = [(seconds_of("pass"), seconds_of(PROGRAMS[arguments.runtime])) for _ in range(arguments.repeat)]
    samples = [(whole - bare) * 1e3 for bare, whole in pairs]
    return report({"ms": samples}, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
