"""Refinement computes what plain NumPy does, byte by byte, in all variants; bad input is told once.

Called with the program, what starts its ranks, and how many. Status 77: ranks cannot be started here.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from comparison import Program, check
from reference import Case

PROGRAM = Program(sys.argv[1], sys.argv[2], int(sys.argv[3]))
# Three levels of tiny blocks; then faces and pieces that are larger than what MPI libraries send at once. Stages are odd and even.
TINY = Case(edge=2, variables=3, coarsest=1, finest=3, radius=20, refinements=2, stages=3)
LARGE = Case(edge=16, variables=8, coarsest=1, finest=2, radius=15, refinements=2, stages=2)


def all_variants_give_the_bytes_of_numpy(folder: Path) -> None:
    moved = PROGRAM.must_agree(TINY, 2, 2, folder)
    check((moved > 0) == (PROGRAM.ranks > 1), f"{moved} pieces were moved")
    if PROGRAM.ranks > 1:
        PROGRAM.must_agree(LARGE, 1, 1, folder)


def bad_input_is_told_once(folder: Path) -> None:
    cases = {
        "--stages": ("--stages", "many"),
        "--edge is 5: it must be even": ("--edge", 5),
        "--finest is 1: it must not be below --coarsest, which is 2": ("--finest", 1),
        "--variant": ("--variant", "neither"),
        "No such file or directory": ("--output", folder / "missing" / "file"),
    }
    if PROGRAM.ranks > 1:
        cases["--coarsest is 0: there may be as few as 1 blocks"] = ("--coarsest", 0)
    for text, arguments in cases.items():
        done = PROGRAM.run(*arguments)
        check(done.returncode == 2, f"{arguments}: exit status {done.returncode}\n{done.stderr}")
        check(done.stderr.count("refinement: ") == 1 and text in done.stderr, f"{arguments}: {done.stderr}")


def a_full_disk_is_told() -> None:
    done = PROGRAM.run("--refinements", 0, "--stages", 1, "--output", "/dev/full")
    check(done.returncode != 0, f"exit status {done.returncode}")
    check("refinement: rank " in done.stderr and "/dev/full at offset " in done.stderr, done.stderr)
    check("No space left on device" in done.stderr, done.stderr)


def main() -> int:
    if not PROGRAM.can_start():
        print(f"{' '.join(sys.argv[2:])} true fails", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        all_variants_give_the_bytes_of_numpy(Path(name))
        if PROGRAM.ranks == 2:
            bad_input_is_told_once(Path(name))
            a_full_disk_is_told()
    return 0


if __name__ == "__main__":
    sys.exit(main())
