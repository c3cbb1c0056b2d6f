"""The example in C copies bytes exactly, sums them up as zlib does, and says clearly what is wrong."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import zlib

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

PROGRAM = pathlib.Path(os.environ["DOVETAIL_BUILD_DIR"]) / "bin/copy_and_checksum"


def run(*arguments: object) -> subprocess.CompletedProcess:
    command = [str(PROGRAM), *map(str, arguments)]
    return hangs.run(command, timeout=120)


def expect(condition: bool, what: str, result: subprocess.CompletedProcess) -> None:
    if not condition:
        sys.exit(f"{what}\n{result.args}\nstatus {result.returncode}\n{result.stdout}\n{result.stderr}")


def checksum(data: bytes, block: int) -> str:
    blocks = [data[begin : begin + block] for begin in range(0, len(data), block)]
    return f"{zlib.crc32(b''.join(zlib.crc32(part).to_bytes(4, 'big') for part in blocks)):08x}"


def check_copies(folder: pathlib.Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    generator = random.Random(seed)
    source, target = folder / "source", folder / "target"
    for size, block, options in (
        (0, 4096, []),
        (1, 4096, []),
        (4096 * 8, 4096, ["-s", 2]),
        (generator.randrange(1, 1 << 20), 5000, ["-s", 3, "-w", 2]),
        (generator.randrange(1, 1 << 22), 65536, ["-w", 1]),
        (generator.randrange(1, 1 << 22), 65536, ["-d"]),
        ((1 << 22) + generator.randrange(5000), 1 << 20, ["-s", 1]),
    ):
        data = generator.randbytes(size)
        source.write_bytes(data)
        target.write_bytes(b"something older and longer" * 10)
        result = run("-b", block, *options, source, target)
        expect(result.returncode == 0, "the copy failed", result)
        expect(target.read_bytes() == data, "the copy differs", result)
        expect(f"bytes {size}\n" in result.stdout, "wrong size", result)
        expect(f"checksum {checksum(data, block)}\n" in result.stdout, "wrong checksum", result)


def check_trace(folder: pathlib.Path) -> None:
    trace = folder / "trace.json"
    result = run("-b", 4096, "-t", trace, folder / "source", folder / "target")
    expect(result.returncode == 0, "the copy with a trace failed", result)
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    expect({"read", "checksum", "write"} <= names, f"tasks are missing in the trace: {names}", result)


def check_errors(folder: pathlib.Path) -> None:
    source = folder / "source"
    for arguments, status, words in (
        ([], 2, ["usage"]),
        ([source], 2, ["usage"]),
        (["-z", source, folder / "x"], 2, ["-z", "usage"]),
        (["-b"], 2, ["-b"]),
        (["-b", "many", source, folder / "x"], 2, ["many"]),
        (["-s", "0", source, folder / "x"], 2, ["'0'"]),
        ([folder / "absent", folder / "x"], 2, ["absent", "No such file"]),
        ([source, folder / "absent/x"], 2, ["absent/x", "No such file"]),
        ([source, source], 2, ["same file", str(source)]),
        ([source, "/dev/full"], 1, ["write", "/dev/full", "No space left"]),
        ([folder, folder / "x"], 1, ["read", str(folder), "Is a directory"]),
    ):
        result = run(*arguments)
        expect(result.returncode == status, f"expected status {status}", result)
        for word in words:
            expect(word in result.stderr, f"the message does not say '{word}'", result)


def main() -> None:
    if not PROGRAM.exists():
        print("the examples are not built")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_copies(folder)
        check_trace(folder)
        check_errors(folder)


if __name__ == "__main__":
    main()
