"""Streaming gives the same bytes in all variants, and they are those of plain Python; bad input is told once.

Called with the program, what starts its ranks, and how many. Status 77: ranks cannot be started here.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "scripts"))

import hangs  # noqa: E402

VARIANTS = ("messages-only", "threads", "multiple", "two-sided", "one-sided")
PROGRAM, STARTER, RANKS = sys.argv[1], sys.argv[2], int(sys.argv[3])
MASK, GOLDEN = (1 << 64) - 1, 0x9E3779B97F4A7C15


def run(*arguments: object) -> subprocess.CompletedProcess:
    return hangs.run([STARTER, "-n", str(RANKS), PROGRAM, *map(str, arguments)], timeout=200)


def expected(stages: int, elements: int, work: int) -> bytes:
    """All that must leave the last stage, one number after the other."""
    result = array("Q")
    for number in range(elements):
        x = number * GOLDEN & MASK
        for stage in range(stages):
            for _ in range(work):
                x = x + GOLDEN * (2 * stage + 1) & MASK
                x ^= x << 13 & MASK
                x ^= x >> 7
                x ^= x << 17 & MASK
        result.append(x)
    return result.tobytes()


def checksum(output: bytes, block_bytes: int) -> str:
    """Of all blocks, each of which is counted once."""
    elements, size = array("Q", output), block_bytes // 8
    # A block has a start of its own, from which the place of an element goes on.
    places = ((number // size + 1 + number % size) * GOLDEN & MASK for number in range(len(elements)))
    return f"{sum(element ^ place for element, place in zip(elements, places, strict=True)) & MASK:016x}"


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def all_variants_give_the_bytes_of_plain_python(folder: Path) -> None:
    # The last is larger than what MPI libraries send at once; 7 blocks cannot be shared out evenly.
    shapes = ((7, 5, 1024, 1), (3, 9, 8, 3), (3, 2, 131072, 1))
    for (chunks, blocks, size, work), stages in itertools.product(shapes, sorted({2, RANKS})):
        answer = expected(stages, chunks * blocks * size // 8, work)
        right_sum = checksum(answer, size)
        for variant in VARIANTS:
            output = folder / "output"
            output.write_bytes(b"left over" * chunks * blocks * size)
            words = ("--variant", variant, "--stages", stages, "--chunks", chunks, "--blocks", blocks, "--work", work)
            more = ("--block-bytes", size, "--workers", 2, "--repeat", 2, "--verify", "--json", "--output", output)
            done = run(*words, *more)
            case = f"{words} {size} bytes"
            check(done.returncode == 0, f"{case}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            told = json.loads(done.stdout)
            check(told["correct"] and told["contender"] == variant, f"{case}: {told}")
            check(len(told["metrics"]["ns"]) == 2 and min(told["metrics"]["ns"]) > 0, f"{case}: {told}")
            check(output.read_bytes() == answer, f"{case}: other bytes than plain Python")
            check(told["checksum"] == right_sum, f"{case}: checksum {told['checksum']}, not {right_sum}")


def bad_input_is_told_once(folder: Path) -> None:
    cases = {
        "--chunks": ("--chunks", "many"),
        "--block-bytes is 12: it must be a multiple of 8": ("--block-bytes", 12),
        "--stages is 3": ("--stages", 3),
        "--variant": ("--variant", "neither"),
        "No such file or directory": ("--output", folder / "missing" / "file"),
    }
    for text, arguments in cases.items():
        done = run(*arguments)
        check(done.returncode == 2, f"{arguments}: exit status {done.returncode}\n{done.stderr}")
        check(done.stderr.count("streaming: ") == 1 and text in done.stderr, f"{arguments}: {done.stderr}")


def main() -> int:
    if hangs.run([STARTER, "-n", str(RANKS), "true"], timeout=60).returncode != 0:
        print(f"{STARTER} -n {RANKS} true fails", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        all_variants_give_the_bytes_of_plain_python(Path(name))
        bad_input_is_told_once(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
