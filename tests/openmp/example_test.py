"""The example does what it says and says clearly what is wrong, under the OpenMP of the compiler that is named.

example_test.py gcc | clang        exit status 77 where the example was not built with it
"""

import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

BINARIES = pathlib.Path(os.environ["DOVETAIL_BUILD_DIR"]) / "bin"


def expect(condition: bool, what: str, result: subprocess.CompletedProcess) -> None:
    if not condition:
        sys.exit(f"{what}\n{result.args}\nstatus {result.returncode}\n{result.stdout}\n{result.stderr}")


def check(program: pathlib.Path, folder: pathlib.Path, generator: random.Random) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess:
        command = [str(program), *map(str, arguments)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(generator.choice((1, 2, 4))))
        return hangs.run(command, env=environment, timeout=120)

    source, target = folder / "source", folder / "target"
    for size, block in ((0, 4096), (1, 4096), (4096 * 40, 4096), (generator.randrange(1, 1 << 21), 5000)):
        data = generator.randbytes(size) + b"z" * (size // 8)
        source.write_bytes(data)
        result = run(source, target, block)
        expect(result.returncode == 0, "it failed", result)
        wanted = b"".join(data[begin : begin + block][::-1] for begin in range(0, len(data), block))
        expect(target.read_bytes() == wanted, "the target differs", result)
        expect(f"bytes {len(data)}\n" in result.stdout, "wrong size", result)
        if size > 1:
            byte, count = collections.Counter(data).most_common(1)[0]
            expect(f"most frequent byte {byte}, {count} times" in result.stdout, "wrong count", result)
    for arguments, status, words in (
        ([], 2, ["usage"]),
        ([source, target, "none"], 2, ["usage"]),
        ([folder / "absent", target], 2, ["absent", "No such file"]),
        ([source, "/dev/full"], 1, ["pwrite", "/dev/full", "No space left", "offset"]),
    ):
        result = run(*arguments)
        expect(result.returncode == status, f"expected status {status}", result)
        for word in words:
            expect(word in result.stderr, f"the message does not say '{word}'", result)


PROGRAMS = {"gcc": "reverse_blocks", "clang": "reverse_blocks_clang"}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"usage: example_test.py {' | '.join(PROGRAMS)}")
    program = BINARIES / PROGRAMS[sys.argv[1]]
    if not program.exists():
        print(
            f"skipped: {program.name} is not built (no {sys.argv[1]} with an OpenMP that has tasks with detach, or a sanitizer)"
        )
        sys.exit(77)
    seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 32)))
    print(f"DOVETAIL_TEST_SEED={seed}, {program.name}")
    with tempfile.TemporaryDirectory() as name:
        check(program, pathlib.Path(name), random.Random(seed))


if __name__ == "__main__":
    main()
