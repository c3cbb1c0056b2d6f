"""How a benchmark that is a script ends: it prints what it measured as the programs in C++ do (harness.hpp)."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence


def report(metrics: Mapping[str, Sequence[float]], as_json: bool) -> int:
    """Prints samples by name. Returns the exit status."""
    if as_json:
        print(json.dumps({"correct": True, "wrong": "", "metrics": metrics}))
    else:
        for name, values in metrics.items():
            print(f"{name:32} {statistics.median(values):9.3f}   ({min(values):.3f} to {max(values):.3f})")
    return 0


def report_wrong(wrong: str, as_json: bool) -> int:
    """What was measured cannot be right: no value of it counts. Returns the exit status."""
    if as_json:
        print(json.dumps({"correct": False, "wrong": wrong, "metrics": {}}))
    else:
        print(wrong, file=sys.stderr)
    return 1
