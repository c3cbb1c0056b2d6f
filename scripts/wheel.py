"""Builds wheels of the Python package: one for each Python that is named, with the libraries, doors and tools inside.

What they need of the system beside the C and C++ libraries goes into the wheel (auditwheel). The name of a wheel says the oldest C library that it runs with: that of this machine,
or an older one. Writes to build/wheel. Exit status: 1 if a build failed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
# A program that is larger than this to download is thought about twice.
LARGEST = 8_000_000


def build(python: str, output: Path) -> Path:
    """The wheel. Raises CalledProcessError, of which the output has been shown."""
    with tempfile.TemporaryDirectory(prefix="raw-", dir=output) as folder:
        words = [sys.executable, "-m", "pip", "--python", python, "wheel", "--no-deps", "--quiet", "-w", folder]
        subprocess.run([*words, str(SOURCE)], check=True)
        (raw,) = Path(folder).glob("*.whl")
        repaired = Path(folder) / "repaired"
        tools = Path(sys.executable).parent
        words = [str(tools / "auditwheel"), "repair", "-w", str(repaired), str(raw)]
        done = subprocess.run(
            words, env={"PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            print(done.stdout + done.stderr, file=sys.stderr)
            done.check_returncode()
        (wheel,) = repaired.glob("*.whl")
        return Path(shutil.move(wheel, output / wheel.name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", action="append", help="an interpreter, several times if need be (default: this one)"
    )
    parser.add_argument("--output", type=Path, default=SOURCE / "build" / "wheel")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for python in arguments.python or [sys.executable]:
        found = shutil.which(python)
        if found is None:
            print(f"wheel: there is no {python}", file=sys.stderr)
            return 1
        print(f"wheel: for {found}", flush=True)
        try:
            wheel = build(found, arguments.output)
        except subprocess.CalledProcessError as error:
            print(f"wheel: {error}", file=sys.stderr)
            return 1
        size = wheel.stat().st_size
        print(f"wheel: {wheel}, {size / 1e6:.1f} MB{'' if size <= LARGEST else ', which is a lot'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
