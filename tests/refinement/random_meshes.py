#!/usr/bin/env python3
"""Random meshes, numbers of ranks and of workers: refinement must compute what plain NumPy does. The long form of refinement_test.py.

    random_meshes.py --build-dir build/release --number 60 --seed 1

Exit status: 1 if one differs, 2 for bad usage, 77 if there is no MPI library.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from comparison import Program
from reference import Case


def random_case(chance: random.Random) -> Case:
    coarsest = chance.randint(1, 2)
    return Case(
        edge=chance.choice((2, 4, 6, 16)),
        variables=chance.randint(1, 5),
        coarsest=coarsest,
        finest=chance.randint(coarsest, 3),
        radius=chance.randint(0, 45),
        refinements=chance.randint(0, 4),
        stages=chance.randint(1, 4),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, required=True, help="where the programs are")
    parser.add_argument("--number", type=int, default=60, help="of cases")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    programs = {
        starter: path
        for library in ("mpich", "openmpi")
        if (starter := shutil.which(f"mpiexec.{library}"))
        and (path := arguments.build_dir / "bin" / "ranks" / f"refinement_{library}").is_file()
    }
    if not programs:
        print("there is no MPI library, or refinement is not built: `make build-tests`", file=sys.stderr)
        return 77
    print(f"seed {arguments.seed}", flush=True)
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.number):
            case, workers = random_case(chance), chance.randint(1, 3)
            starter, path = chance.choice(list(programs.items()))
            ranks = chance.choice((1, 2, 3, 4, 7, 8))
            print(f"{number}: {Path(starter).name}, {ranks} ranks, {workers} workers, {case}", flush=True)
            try:
                Program(str(path), starter, ranks).must_agree(case, workers, 2, Path(folder))
            except AssertionError as error:
                print(f"seed {arguments.seed}: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
