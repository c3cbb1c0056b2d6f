"""Runs the fuzzers of tests/fuzz, one after the other, each for some seconds.

What they learn is kept in build/fuzz/corpus/<name> and used by the next run. An input that does harm is written to
tests/fuzz/found/<name>, where `make test` repeats it from then on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
LONGEST_INPUT = 1 << 20
MEBIBYTES = 2048
SECONDS_FOR_ONE_INPUT = 25
MISSING = 77


def names(programs: Path) -> list[str]:
    found = {path.name.removeprefix("fuzz_") for path in programs.glob("fuzz_*") if not path.name.endswith("_replay")}
    return sorted(found)


def scripts() -> list[str]:
    """Fuzzers of what Python reads."""
    return sorted(path.stem.removesuffix("_fuzzer") for path in (SOURCE / "tests" / "fuzz").glob("*_fuzzer.py"))


def fuzz_script(name: str, build: Path, seconds: int) -> bool:
    """Whether nothing was found. It is left out, with a word, where atheris or the Python package is missing."""
    found = SOURCE / "tests" / "fuzz" / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    print(f"fuzz: {name} for {seconds} s", flush=True)
    words = [str(SOURCE / "tests" / "fuzz" / f"{name}_fuzzer.py"), "--seconds", str(seconds), "--found", str(found)]
    package = os.environ.get("DOVETAIL_BUILD_DIR", str(SOURCE / "build" / "release"))
    done = subprocess.run(
        [sys.executable, *words, str(build / "corpus" / name)],
        env={**os.environ, "DOVETAIL_BUILD_DIR": package},
        check=False,
    )
    if not any(found.iterdir()):
        found.rmdir()
    return done.returncode in (0, MISSING)


def fuzz(name: str, build: Path, seconds: int) -> bool:
    """Whether nothing was found."""
    if name in scripts():
        return fuzz_script(name, build, seconds)
    corpus = build / "corpus" / name
    programs = build / "bin"
    subprocess.run([programs / f"fuzz_{name}_replay", "--write-seeds", corpus], check=True)
    found = SOURCE / "tests" / "fuzz" / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    print(f"fuzz: {name} for {seconds} s", flush=True)
    done = subprocess.run(
        [
            programs / f"fuzz_{name}",
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={SECONDS_FOR_ONE_INPUT}",
            f"-rss_limit_mb={MEBIBYTES}",
            f"-artifact_prefix={found}/",
            "-print_final_stats=1",
            "-verbosity=0",
            corpus,
        ],
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": "detect_stack_use_after_return=0"},
        check=False,
    )
    if not any(found.iterdir()):
        found.rmdir()
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="the fuzzers to run; all if none is named")
    parser.add_argument("--build-dir", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--seconds", type=int, default=20, help="for each fuzzer")
    arguments = parser.parse_args()
    programs = names(arguments.build_dir / "bin")
    known = [*programs, *scripts()] if programs else []
    unknown = sorted(set(arguments.names) - set(known))
    if unknown or not known:
        print(f"fuzz: no fuzzer {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in arguments.names or known if not fuzz(name, arguments.build_dir, arguments.seconds)]
    if failed:
        print(
            f"fuzz: found by {', '.join(failed)}: the inputs are in tests/fuzz/found; mend the cause and commit them",
            file=sys.stderr,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
