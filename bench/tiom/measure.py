"""One point of dovetail-tiom as a benchmark: its variants in turn, and how they compare with the faster plain one.

Metrics, by name of the variant: <variant>_mb_per_second; blocking_over_baseline, nonblocking_over_baseline (docs/tiom.md, "the baseline");
threads_over_standalone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.script import report  # noqa: E402 (beside this folder)

VARIANTS = ("standalone", "threads", "blocking", "nonblocking")
NO_MODEL = "--no-model"  # its curve takes longer to measure than the point


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, list[float]]:
    command = [
        arguments.program, "--json", NO_MODEL, "--file", folder / "data", "--variant", ",".join(VARIANTS),
        "--mode", arguments.mode, "--pattern", arguments.pattern, "--block", arguments.block, "--compute", arguments.compute,
        "--series", arguments.series, "--rounds", arguments.rounds, "--operations", arguments.operations,
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    variants = json.loads(done.stdout)["variants"]
    metrics = {f"{name}_mb_per_second": [figures["mib_per_second"] * 1.048576] for name, figures in variants.items()}
    for name in ("blocking", "nonblocking"):
        metrics[f"{name}_over_baseline"] = [variants[name]["over_baseline"]]
    metrics["threads_over_standalone"] = [variants["threads"]["speedup"]]
    return metrics


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="dovetail-tiom")
    parser.add_argument("--mode", default="mix")
    parser.add_argument("--pattern", default="rr")
    parser.add_argument("--block", default="128K")
    parser.add_argument("--compute", default="1", help="milliseconds")
    parser.add_argument("--series", default="4x")
    parser.add_argument("--operations", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each variant in one launch")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    base = os.environ.get("DOVETAIL_BENCH_DIR", ".")
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-tiom-", dir=base) as folder:
        metrics = measure(arguments, Path(folder))
    return report(metrics, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
