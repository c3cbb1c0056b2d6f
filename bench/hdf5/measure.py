"""One kernel natively and under Dovetail in turn, on a device that is slow on purpose or on the disk as it is.

    measure.py --kernel write --way transparent|explicit|h5py --device 60 --compute even

Metrics, the medians of `--repeat` turns:
    efficiency   percent of the time that could be hidden which was: (T_native - T) / min(T_io, T_comp)
    io_ratio     by how much the application's time in HDF5 calls shrinks
    slowdown     T / T_native
    native, dovetail, io, compute   seconds; cpu, native_cpu: processor seconds of the program
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from fault_fs import FaultFs, FaultFsUnavailable  # noqa: E402 (beside this folder)
from harness.script import report  # noqa: E402 (beside this folder)

CONNECTOR = "dovetail under_vol=0;under_info={}"


class Kernel:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        build = Path(arguments.build_dir)
        program = [sys.executable, HERE / "kernels.py"] if arguments.way == "h5py" else [build / "bin" / "hdf5_kernels"]
        self.folder = folder
        self.program = [*map(str, program), "--particles", str(arguments.particles)]
        self.options = [*(["--flush"] if arguments.flush else []), "--deflate", str(arguments.deflate)]
        self.explicit = ["--explicit"] if arguments.way == "explicit" else []
        self.steps = arguments.steps
        self.processes = arguments.processes
        self.clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("HDF5_", "DOVETAIL_HDF5"))
        }
        self.under = {
            **self.clean,
            "HDF5_PLUGIN_PATH": str(build / "lib" / "dovetail" / "hdf5"),
            "HDF5_VOL_CONNECTOR": CONNECTOR,
            "DOVETAIL_HDF5_FLUSH": "background",
        }

    def file(self, reads: bool, process: int) -> Path:
        return self.folder / f"{'series' if reads else 'written'}{process}.h5"

    def run(self, kernel: str, dovetail: bool, compute: int = 0) -> dict[str, float]:
        """All processes side by side, each with a file of its own: the times of the slowest, the processor time of all."""
        running = []
        for process in range(self.processes):
            name = self.file(kernel in ("read", "metadata_read"), process)
            if kernel.endswith("write") or kernel == "mixed":
                name.unlink(missing_ok=True)
            command = [*self.program, "--kernel", kernel, "--file", str(name), "--steps", str(self.steps)]
            command += [*self.options, *(["--compute", str(compute)] if compute else [])]
            command += self.explicit if dovetail else []
            environment = self.under if dovetail else self.clean
            running.append(
                subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
        said = [process.communicate() for process in running]
        for process, (_, errors) in zip(running, said, strict=True):
            if process.returncode:
                raise SystemExit(f"{' '.join(map(str, process.args))}: status {process.returncode}\n{errors}")
        results = [json.loads(output) for output, _ in said]
        together = {name: max(result[name] for result in results) for name in results[0]}
        return {**together, "cpu": sum(result["cpu"] for result in results)}

    def prepare(self, kernel: str) -> None:
        """What is read, written natively."""
        if kernel in ("read", "metadata_read"):
            self.run("write" if kernel == "read" else "metadata_write", dovetail=False)
            for process in range(self.processes):
                self.file(False, process).rename(self.file(True, process))


def measure(kernel: Kernel, arguments: argparse.Namespace) -> dict[str, list[float]]:
    kernel.prepare(arguments.kernel)
    io = statistics.median(kernel.run(arguments.kernel, dovetail=False)["total"] for _ in range(2))
    factor = {"none": 0.0, "even": 1.0, "long": 2.0}[arguments.compute]
    compute = round(1000 * io * factor / arguments.steps)
    metrics: dict[str, list[float]] = {}
    for _ in range(arguments.repeat):
        native, dovetail = (kernel.run(arguments.kernel, way, compute) for way in (False, True))
        sample = {
            "slowdown": dovetail["total"] / native["total"],
            "io_ratio": native["io"] / dovetail["io"],
            "native": native["total"],
            "dovetail": dovetail["total"],
            "io": native["io"],
            "compute": native["compute"],
            "cpu": dovetail["cpu"],
            "native_cpu": native["cpu"],
        }
        if compute:
            sample["efficiency"] = 100 * (native["total"] - dovetail["total"]) / min(native["io"], native["compute"])
        for name, value in sample.items():
            metrics.setdefault(name, []).append(value)
    return metrics


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kernel",
        choices=("write", "read", "metadata_write", "metadata_read", "mixed", "files_write"),
        required=True,
    )
    parser.add_argument("--way", choices=("transparent", "explicit", "h5py"), default="transparent")
    parser.add_argument(
        "--device", type=float, default=0, metavar="MB/S", help="bandwidth of a slow device; 0: the disk as it is"
    )
    parser.add_argument(
        "--compute", choices=("none", "even", "long"), default="none", help="as long as the I/O, twice as long"
    )
    parser.add_argument("--flush", action="store_true", help="flush after every step")
    parser.add_argument("--deflate", type=int, default=0, metavar="LEVEL", help="of compression; 0: none")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--particles", type=int, default=131072)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--processes", type=int, default=1, help="that do the same side by side, each with its own file"
    )
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("--build-dir", default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.steps, arguments.repeat, arguments.processes) < 1 or arguments.device < 0:
        parser.error("steps, repeats and processes are at least 1, a bandwidth at least 0")
    if arguments.way == "h5py" and arguments.kernel not in ("write", "read"):
        parser.error("only write and read are there for h5py")
    rules = f"read,write bandwidth={arguments.device:g}"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder) as folder,
            FaultFs(rules, backing=folder) if arguments.device else nullcontext() as device,
        ):
            metrics = measure(Kernel(arguments, Path(device.path if arguments.device else folder)), arguments)
    except FaultFsUnavailable as reason:
        print(reason, file=sys.stderr)
        return 77
    return report(metrics, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
