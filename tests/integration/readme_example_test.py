"""The example in README.md compiles as it stands, runs, and gives the right answer."""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
SANITIZERS = {"": [], "thread": ["-fsanitize=thread"], "address": ["-fsanitize=address,undefined"]}
MOST_LINES = 20
COUNT = 1000


def check(condition: object, message: str) -> None:
    if not condition:
        sys.exit(message)


def example() -> str:
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    check(blocks, "README.md has no C++ block")
    lines = [line for line in blocks[0].splitlines() if line.strip()]
    check(len(lines) <= MOST_LINES, f"the example has {len(lines)} lines, which is no longer short")
    return blocks[0]


def library() -> Path:
    found = sorted(BUILD.glob("lib*/libdovetail.so"))
    check(found, f"no libdovetail.so in {BUILD}/lib*: run `make build`, or set DOVETAIL_BUILD_DIR")
    return found[0]


def build(folder: Path) -> Path:
    source, program, shared = folder / "example.cpp", folder / "example", library()
    source.write_text(example())
    command = [*shlex.split(os.environ.get("CXX", "g++")), "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    command += [*SANITIZERS[os.environ.get("DOVETAIL_SANITIZE", "")], "-I", str(SOURCE / "include"), str(source)]
    command += ["-o", str(program), str(shared), f"-Wl,-rpath,{shared.parent}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    check(result.returncode == 0, f"the example does not compile:\n{shlex.join(command)}\n{result.stderr}")
    return program


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="dovetail-readme-") as name:
        folder = Path(name)
        program = build(folder)
        for engine in ("auto", "threads"):
            environment = {**os.environ, "DOVETAIL_ENGINE": engine}
            result = hangs.run([program], cwd=folder, env=environment, timeout=60)
            check(result.returncode == 0, f"{engine}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
            expected = f"sum {COUNT * (COUNT + 1) // 2}\n"
            check(result.stdout == expected, f"{engine}: printed {result.stdout!r}, not {expected!r}")
            written = (folder / "numbers.bin").read_bytes()
            check(written == struct.pack(f"={COUNT}q", *range(1, COUNT + 1)), f"{engine}: numbers.bin is wrong")
            (folder / "numbers.bin").unlink()


if __name__ == "__main__":
    main()
