"""Format and lint: clang-format and ruff, the rules of the tree (check_rooms.py), the Fortran interface, then clang-tidy.

All checks run, so that one run shows everything; exit status 1 when one of them complains.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv" / "bin"
CXX_FOLDERS = ["include", "src", "bindings", "interpose", "tools", "tests", "bench", "examples"]
DOORS = {"bindings", "interpose"}
CXX_SUFFIXES = {".cpp", ".hpp", ".h", ".c"}


def cxx_files(folders: list[str], suffixes: set[str]) -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes
    ]


def run(*command: str) -> bool:
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def clang_format(*options: str) -> bool:
    files = cxx_files(CXX_FOLDERS, CXX_SUFFIXES)
    return not files or run(str(TOOLS / "clang-format"), *options, *files)


def ruff(*options: str) -> bool:
    return run(str(TOOLS / "ruff"), *options, ".")


def tidy_one(build: Path, file: str) -> tuple[str, bool, str]:
    command = [str(TOOLS / "clang-tidy"), "--quiet", "-p", str(build), file]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return file, result.returncode == 0, result.stdout + ("" if result.returncode == 0 else result.stderr)


def clang_tidy(build: Path, jobs: int) -> bool:
    if not (build / "compile_commands.json").is_file():
        print(f"{build} has no compile_commands.json: run `make lint`", file=sys.stderr)
        return False
    # clang-tidy reads the sources of a room several at a time, joined by the build, because most of the time goes into headers. It
    # leaves out what else is in the folders of the build: tests, benchmarks, nanobind's own sources. Some doors are not joined, and
    # run_openmp.cpp needs the headers of GCC.
    read = [Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())]
    targets = re.compile(r"/(CMakeFiles/dovetail_|(bindings|interpose|tools)/(?!.*nanobind-static))")
    joined = {file for file in read if file.parent.name == "Unity" and targets.search(str(file))}
    covered = {source for file in joined for source in re.findall(r'#include "(.*)"', file.read_text())}
    alone = {file for file in read if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in DOORS}
    files = sorted({str(file) for file in joined | alone} - covered)
    if not joined:
        print(
            f"{build} joins no sources, so that there is nothing to read: has the form of the Unity build changed? "
            f"Configure it with -DCMAKE_UNITY_BUILD=ON, as `make lint` does",
            file=sys.stderr,
        )
        return False
    clean = True
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda file: tidy_one(build, file), files)
        for done, (file, good, output) in enumerate(results, 1):
            print(f"  [{done}/{len(files)}] {os.path.relpath(file, ROOT)}" + ("" if good else ": FAILED"), flush=True)
            if not good:
                print(output)
                clean = False
    return clean


def report(name: str, check: Callable[[], bool]) -> bool:
    print(f"lint: {name}", flush=True)
    start = time.monotonic()
    good = check()
    print(f"lint: {name}: {'clean' if good else 'FAILED'} ({time.monotonic() - start:.1f} s)", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=Path("build/lint"), help="a configured build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--format", action="store_true", help="format the sources in place and check nothing")
    arguments = parser.parse_args()
    if arguments.format:
        formatted = clang_format("-i") & ruff("format") & ruff("check", "--fix-only")
        written = run(sys.executable, "scripts/fortran_interface.py") & run(sys.executable, "scripts/mpi_forms.py")
        return 0 if formatted & written else 1

    build = (ROOT / arguments.build_dir).resolve()
    checks: list[tuple[str, Callable[[], bool]]] = [
        ("clang-format", lambda: clang_format("--dry-run", "-Werror")),
        ("ruff format", lambda: ruff("format", "--check")),
        ("ruff", lambda: ruff("check")),
        ("types", lambda: run(str(TOOLS / "mypy"))),
        ("rooms", lambda: run(sys.executable, "scripts/check_rooms.py", "--jobs", str(arguments.jobs))),
        ("Fortran interface", lambda: run(sys.executable, "scripts/fortran_interface.py", "--check")),
        ("forms of MPI", lambda: run(sys.executable, "scripts/mpi_forms.py", "--check")),
        ("clang-tidy", lambda: clang_tidy(build, arguments.jobs)),
    ]
    failed = [name for name, check in checks if not report(name, check)]
    if failed:
        hint = "; `make format` repairs the format" if {"clang-format", "ruff format"} & set(failed) else ""
        print(f"lint: failed: {', '.join(failed)}{hint}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
