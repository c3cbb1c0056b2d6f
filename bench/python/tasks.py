"""Tasks that do next to nothing, in Python: what a runtime costs. `--runtime` says which; see problems.py."""

from __future__ import annotations

import argparse
import json
import os
import sys

from contenders import CONTENDERS
from problems import PROBLEMS, timed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=CONTENDERS, required=True)
    parser.add_argument("--problem", choices=PROBLEMS, default="empty")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.tasks < 1 or arguments.workers < 1 or arguments.repeat < 1:
        parser.error("--tasks, --workers and --repeat must be at least 1")

    contender = CONTENDERS[arguments.runtime](arguments.workers)
    wrong: list[str] = []
    samples: list[float] = []
    try:
        # The first run starts what starts late.
        timed(arguments.problem, contender, min(arguments.tasks, 1000))
        for _ in range(arguments.repeat):
            seconds, problem = timed(arguments.problem, contender, arguments.tasks)
            samples.append(seconds / arguments.tasks * 1e6)
            wrong += [problem] if problem else []
    finally:
        contender.close()
    if arguments.json:
        print(json.dumps({"correct": not wrong, "wrong": "; ".join(wrong), "metrics": {"us": samples}}))
    else:
        print(f"{arguments.runtime}: {arguments.problem}: {sorted(samples)[len(samples) // 2]:.2f} us per task")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
