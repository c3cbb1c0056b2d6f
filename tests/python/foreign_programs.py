#!/usr/bin/env python3
"""PyCOMPSs' own local programs and dislib's tests, as they are, under `dovetail run --pycompss`.

    foreign_programs.py [--only programs|elsewhere|tutorial|dislib] [--names 0_basic1 test_kmeans ...] [--native]

A program passes if it ends as its authors' check of it asks for: with status 0 and without a test that fails, unless
foreign_programs.toml says what else it must give, that it is refused (by a message that names what is not covered) or why it is left out.
The applications of PyCOMPSs' tutorial print what they print with PyCOMPSs' own modules, times apart.
dislib's tests end as they end with PyCOMPSs' own modules, which perform tasks one after the other where there is no server;
a test that ends differently is repeated alone, in both ways. --native runs the programs with those modules, for comparison.

`scripts/setup_foreign.sh` gets the sources and packages into .cache-foreign. Exit status: 0 all pass, 1 not, 77 nothing could be run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreign_dislib import run_dislib
from foreign_runner import BUILD, PYCOMPSS, PYTHON, SOURCES, Ended, Runner, indented

HERE = Path(__file__).resolve().parent
SKIPPED = 77
REFUSED = "is not covered by Dovetail"
# Where the programs keep what their tasks share; they name it by this path.
SHARED = Path("/tmp/sharedDisk")

# PyCOMPSs' launcher gives a program more than Python does: the name `sys`, and a table of the objects that the runtime knows, which is
# empty here.
LAUNCHER = """
import builtins, runpy, sys, types
builtins.sys = sys
class OT:
    pending_to_synchronize = {}
    get_object_id = staticmethod(lambda value: "")
module = types.ModuleType("pycompss.runtime.management.object_tracker")
module.OT = OT
sys.modules[module.__name__] = module
del sys.argv[0]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass
class Program:
    """A folder of the authors' test bench, and what its programs must give."""

    name: str
    folder: Path
    script: str = ""  # without it, what the authors' own script says is run
    like_native: bool = False
    left_out: str = ""
    refused: bool = False
    launched: bool = False
    status: int = 0
    says: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    arguments: list[str] | None = None
    # Tests in it that fail, and why that is right.
    failing: dict[str, str] = field(default_factory=dict)

    def runs(self) -> list[tuple[str, list[str], list[str]]]:
        """Script, search path and arguments of each run, as the authors' script has them."""
        if self.script:
            return [(self.script, ["src"], self.arguments or [])]
        text = (self.folder / "execution").read_text()
        found, script, paths = [], "", []
        pattern = (
            r'app_name\d?="*([\w.]+\.py)|--pythonpath=(\S+)|"\$\{base_app_dir\}/(src\w*)/\$\{app_name\d?\}"([^>\n]*)'
        )
        for name, path, place, arguments in re.findall(pattern, text):
            if name:
                script = name
            elif path:
                paths = [part.strip('"').removeprefix('${base_app_dir}"/') for part in path.split(":")]
            else:
                found.append((f"{place}/{script}", paths, arguments.split()))
        return [run for run in found if self.arguments is None or run[2] == self.arguments]

    def faults(self, runner: Runner) -> tuple[list[str], int]:
        """What was wrong, and how many tests of unittest were run."""
        faults: list[str] = []
        count = 0
        with tempfile.TemporaryDirectory(prefix="dovetail-programs-") as name:
            folder = Path(name)
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            for script, paths, arguments in self.runs():
                program = folder / script
                if self.launched and not runner.native:
                    arguments = [str(program), *arguments]
                    program = folder / "launcher.py"
                    program.write_text(LAUNCHER)
                found = [folder / path for path in paths]
                ended = runner.run(program, arguments, folder, found, **self.environment)
                count += sum(int(number) for number in re.findall(r"^Ran (\d+) tests? in", ended.output, re.MULTILINE))
                wrong = self._wrong_end(ended)
                if self.like_native and not wrong:
                    native = Runner(runner.python, runner.seconds, native=True).run(program, arguments, folder, found)
                    wrong = (
                        "" if _lasting(native) == _lasting(ended) else f"natively it says\n{indented(native.output)}"
                    )
                if wrong:
                    faults.append(f"{self.name}: {script}: {wrong}\n{indented(ended.output[-4000:])}")
            for path, content in self.files.items():
                file = folder / path  # an absolute path stays one
                text = file.read_text() if file.exists() else "not there"
                if not faults and text != content:
                    faults.append(f"{self.name}: {path} should have {content!r} and has {text!r}")
        return faults, count

    def _wrong_end(self, ended: Ended) -> str:
        if self.refused:
            good = ended.status != 0 and REFUSED in ended.output
            return "" if good else f"should have been refused, and ended with {ended.status}"
        if ended.status != self.status:
            return f"status {ended.status}, not {self.status}"
        missing = [text for text in self.says if text not in ended.output]
        if missing:
            return f"did not say {missing}"
        failed = {name for _, name in re.findall(r"^(ERROR|FAIL): (\w+)", ended.output, re.MULTILINE)}
        if failed != set(self.failing):
            return f"failed: {sorted(failed)}; expected of it: {sorted(self.failing)}"
        # What the authors' checks look for.
        if self.status == 0 and not failed and re.search(r"\b(ERROR|FAIL(ED)?)\b", ended.output):
            return "said that something failed"
        return ""


def _lasting(ended: Ended) -> list[str]:
    """What does not depend on how long it took."""
    return [line for line in ended.output.splitlines() if not re.search(r"[Tt]ime|dovetail:", line)]


def bench(known: dict[str, Any], wanted: list[str]) -> list[Program]:
    """The programs of PyCOMPSs' test bench that run on one machine."""
    bench = SOURCES / "compss" / "tests" / "sources" / "local"
    found = []
    for kind in ("python", "fault_tolerance"):
        for folder in sorted(bench.glob(f"{kind}/*")):
            if (folder / "execution").is_file() and (not wanted or folder.name in wanted):
                program = Program(folder.name, folder, **known.get(folder.name, {}))
                if program.runs() or folder.name in known:
                    found.append(program)
    return found


def elsewhere(known: dict[str, Any], wanted: list[str]) -> list[Program]:
    """Programs of the other parts of the test bench, which their authors run on several machines or by other tools."""
    folder = SOURCES / "compss" / "tests" / "sources" / "local"
    return [Program(name, folder / name, **options) for name, options in known.items() if not wanted or name in wanted]


def tutorial(known: dict[str, Any], wanted: list[str]) -> list[Program]:
    """The applications of PyCOMPSs' tutorial."""
    folder = SOURCES / "tutorial_apps" / "python"
    return [
        Program(name, folder / name, like_native=True, **options)
        for name, options in known.items()
        if not wanted or name in wanted
    ]


def run_programs(runner: Runner, programs: list[Program]) -> tuple[list[str], int]:
    """What was wrong, and how many programs were run."""
    faults: list[str] = []
    ends: Counter[str] = Counter()
    tests = 0
    for program in programs:
        if program.left_out:
            print(f"  {program.name}: left out, {program.left_out}")
            ends["left out"] += 1
            continue
        made = not SHARED.exists()
        SHARED.mkdir(exist_ok=True)
        begin = time.monotonic()
        try:
            wrong, count = program.faults(runner)
        finally:
            if made:
                shutil.rmtree(SHARED, ignore_errors=True)
        end = "wrong" if wrong else ("refused" if program.refused else "right")
        print(f"  {program.name}: {end}, {count} tests, {time.monotonic() - begin:.1f} s", flush=True)
        faults += wrong
        ends[end] += 1
        tests += count
    print(f"  programs: {', '.join(f'{number} {end}' for end, number in ends.items())}; {tests} tests in them")
    return faults, ends.total() - ends["left out"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("programs", "elsewhere", "tutorial", "dislib"))
    parser.add_argument("--names", nargs="+", default=[], help="of programs, or of dislib's test modules")
    parser.add_argument("--python", default=str(PYTHON))
    parser.add_argument(
        "--seconds", type=float, default=900, help="most for a program, and for a module of dislib's tests"
    )
    parser.add_argument(
        "--native", action="store_true", help="run the programs with PyCOMPSs' own modules, one task at a time"
    )
    arguments = parser.parse_args()
    if not (BUILD / "python" / "dovetail").is_dir():
        parser.error(f"{BUILD} has no Python package: run `make build`, or set DOVETAIL_BUILD_DIR")
    runner = Runner(arguments.python, arguments.seconds, arguments.native)
    known = tomllib.loads((HERE / "foreign_programs.toml").read_text())
    parts = {
        "programs": ("compss", lambda: run_programs(runner, bench(known["programs"], arguments.names))),
        "elsewhere": ("compss", lambda: run_programs(runner, elsewhere(known["elsewhere"], arguments.names))),
        "tutorial": ("tutorial_apps", lambda: run_programs(runner, tutorial(known["tutorial"], arguments.names))),
        "dislib": ("dislib", lambda: run_dislib(runner, arguments.names, known["dislib"]["left_out"])),
    }
    faults: list[str] = []
    count = 0
    for name, (source, part) in parts.items():
        if arguments.only not in (None, name):
            continue
        missing = [str(path) for path in (Path(arguments.python), SOURCES / source, PYCOMPSS) if not path.exists()]
        if missing:
            print(f"{name}: left out, there is no {', no '.join(missing)}; scripts/setup_foreign.sh gets it")
            continue
        print(name, flush=True)
        wrong, number = part()
        faults += wrong
        count += number
    print("\n".join(faults) or ("Everything ends as it must." if count else "Nothing could be run."))
    return 1 if faults else (0 if count else SKIPPED)


if __name__ == "__main__":
    sys.exit(main())
