#!/usr/bin/env python3
"""PyCOMPSs' own local programs and dislib's tests, as they are, under `dovetail run --pycompss`.

    foreign_programs.py [--only programs elsewhere tutorial dislib] [--names 0_basic1 test_kmeans ...] [--native] [--list docs/pycompss.md]

A program passes if it ends with status 0, no test of unittest in it fails and, where it has none, it prints no ERROR, FAIL or FAILED, unless
foreign_programs.toml says what else it must give, that it is refused (by a message that names what is not covered), why it is left out, or what it needs that is not here.
The scripts by which the authors look for more in what a program prints are not run: what they look for counts where that file has it.
The applications of PyCOMPSs' tutorial print what they print with PyCOMPSs' own modules, times apart.
dislib's tests end as they end with PyCOMPSs' own modules, which perform tasks one after the other where there is no server;
a test that ends differently is repeated alone, in both ways. --list puts a table of the programs, with how each has ended, into a page. --native runs the programs with those modules, for comparison.

`scripts/setup_foreign.sh` gets the sources and packages into .cache-foreign. Exit status: 0 all pass, 1 not, 77 nothing could be run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import web_service
from foreign_dislib import run_dislib
from foreign_runner import BUILD, PYCOMPSS, PYTHON, SOURCES, Ended, Runner, indented

HERE = Path(__file__).resolve().parent
SKIPPED = 77
REFUSED = "is not covered by Dovetail"
LEFT_OUT, NOT_HERE = "not covered", "not here"
TASK_FAILED = r"TaskFailed: task '\w+' failed|task '\w+' failed: CommandFailed"
# The address that the programs' resources files have.
AUTHORS_SERVICE = "http://localhost:1992/test/"
# Where the programs keep what their tasks share; they name it by this path.
SHARED = Path("/tmp/sharedDisk")


@dataclass
class Program:
    """A folder of the authors' test bench, and what its programs must give."""

    name: str
    folder: Path
    script: str = ""  # without it, what the authors' own script says is run
    like_native: bool = False
    left_out: str = ""  # for what Dovetail does not cover
    not_here: str = ""  # for what PyCOMPSs itself would need to run it, and is not here
    refused: bool = False
    status: int = 0
    says: list[str] = field(default_factory=list)
    says_often: dict[str, int] = field(default_factory=dict)  # patterns of lines
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)  # `{folder}` is that of the program
    fails: list[str] = field(default_factory=list)  # scripts in which a task must fail
    arguments: list[str] | None = None
    options: list[str] = field(default_factory=list)  # of `dovetail run`; `{folder}` is that of the program
    extension: str = ""  # a folder whose setup.py builds a module in C
    web_service: bool = False  # resources.xml has the address of one, which runs meanwhile
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
        with ExitStack() as stack:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="dovetail-programs-"))
            folder = Path(name)
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            if self.extension:
                command = [runner.python, "setup.py", "build_ext", "--inplace"]
                subprocess.run(command, cwd=folder / self.extension, check=True, capture_output=True)
            if self.web_service:
                address, _ = stack.enter_context(web_service.running())
                resources = folder / "resources.xml"
                resources.write_text(resources.read_text().replace(AUTHORS_SERVICE, address))
            options = [text.replace("{folder}", str(folder)) for text in self.options]
            for script, paths, arguments in self.runs():
                program = folder / script
                found = [folder / path for path in paths]
                environment = {n: text.replace("{folder}", str(folder)) for n, text in self.environment.items()}
                ended = runner.run(program, arguments, folder, found, options, **environment)
                count += sum(int(number) for number in re.findall(r"^Ran (\d+) tests? in", ended.output, re.MULTILINE))
                wrong = self._wrong_end(ended, script.rpartition("/")[2] in self.fails)
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

    def _wrong_end(self, ended: Ended, fails: bool) -> str:
        if fails:
            return "" if re.search(TASK_FAILED, ended.output) else "no task failed"
        if self.refused:
            # unittest's own runner ends with 0
            good = REFUSED in ended.output and (ended.status != 0 or "\nFAILED (errors=" in ended.output)
            return "" if good else f"should have been refused, and ended with {ended.status}"
        if ended.status != self.status:
            return f"status {ended.status}, not {self.status}"
        lines = ended.output.splitlines()
        counts = {pattern: sum(bool(re.search(pattern, line)) for line in lines) for pattern in self.says_often}
        if counts != self.says_often:
            return f"says {counts}, not {self.says_often}"
        missing = [text for text in self.says if text not in ended.output]
        if missing:
            return f"did not say {missing}"
        failed = {name for _, name in re.findall(r"^(ERROR|FAIL): (\w+) \(", ended.output, re.MULTILINE)}
        if failed != set(self.failing):
            return f"failed: {sorted(failed)}; expected of it: {sorted(self.failing)}"
        # Where no sum of unittest tells. What programs of tasks print goes elsewhere under PyCOMPSs.
        told = re.search(r"^Ran \d+ tests? in .*\n+OK", ended.output, re.MULTILINE)
        if self.status == 0 and not failed and not told and re.search(r"\b(ERROR|FAIL(ED)?)\b", ended.output):
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


@dataclass
class Row:
    """How a program has ended."""

    name: str
    end: str
    why: str = ""

    def line(self) -> str:
        return f"| `{self.name}` | {self.end} | {self.why} |"


def row_of(program: Program, wrong: list[str]) -> Row:
    """What the table says of a program that has been run."""
    if wrong:
        return Row(program.name, "wrong")
    if program.refused:
        return Row(program.name, "refused", "by a message that names what is not covered")
    if program.failing:
        whys = "; ".join(sorted(set(program.failing.values())))
        return Row(program.name, f"right but for {len(program.failing)} of its tests", whys)
    return Row(program.name, "right")


TITLES = {
    "programs": "the test bench, for one machine",
    "elsewhere": "other parts of the test bench",
    "tutorial": "the tutorial",
}
BEGIN, END = "<!-- programs: foreign_programs.py --list -->", "<!-- end of programs -->"


def summed(name: str, rows: list[Row]) -> str:
    """A line of the page that says how many programs end how."""
    ends = Counter(re.sub(r"but for \d+ of its tests", "but for some of their tests", row.end) for row in rows)
    could = len(rows) - ends[NOT_HERE]
    parts = ", ".join(f"{number} {end}" for end, number in ends.items() if end != NOT_HERE)
    apart = f", besides {ends[NOT_HERE]} that are not for here" if ends[NOT_HERE] else ""
    return f"- {name}: {could} programs: {parts}{apart}."


def write_list(page: Path, parts: dict[str, list[Row]]) -> None:
    """Puts the sums and the tables between the two marks of the page: first what could be run here."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has not the lines {BEGIN} and {END}")
    rows = [row for part in parts.values() for row in part]
    sums = [summed(TITLES[name], part) for name, part in parts.items() if part]
    head = ["| program | ends | why |", "|---|---|---|"]
    table = [*head, *(row.line() for row in rows if row.end != NOT_HERE)]
    apart = ["| program | what it needs |", "|---|---|"]
    apart += [f"| `{row.name}` | {row.why} |" for row in rows if row.end == NOT_HERE]
    told = "Not for here, with PyCOMPSs itself neither:"
    page.write_text("\n".join([before + BEGIN, "", *sums, "", *table, "", told, "", *apart, "", END + after]))


def run_programs(runner: Runner, programs: list[Program], rows: list[Row]) -> tuple[list[str], int]:
    """What was wrong, and how many programs were run; `rows` gets how each has ended."""
    faults: list[str] = []
    ends: Counter[str] = Counter()
    tests = 0
    for program in programs:
        left = Row(program.name, NOT_HERE, program.not_here) if program.not_here else None
        left = Row(program.name, LEFT_OUT, program.left_out) if program.left_out else left
        if left is not None:
            print(f"  {program.name}: {left.end}, {left.why}")
            ends[left.end] += 1
            rows.append(left)
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
        rows.append(row_of(program, wrong))
        ends[end] += 1
        tests += count
    print(f"  programs: {', '.join(f'{number} {end}' for end, number in ends.items())}; {tests} tests in them")
    return faults, ends.total() - ends[LEFT_OUT] - ends[NOT_HERE]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("programs", "elsewhere", "tutorial", "dislib"))
    parser.add_argument("--names", nargs="+", default=[], help="of programs, or of dislib's test modules")
    parser.add_argument("--python", default=str(PYTHON))
    parser.add_argument(
        "--seconds", type=float, default=900, help="most for a program, and for a module of dislib's tests"
    )
    parser.add_argument(
        "--native", action="store_true", help="run the programs with PyCOMPSs' own modules, one task at a time"
    )
    parser.add_argument("--list", type=Path, metavar="PAGE", help="the page to put the table of programs into")
    arguments = parser.parse_args()
    if not (BUILD / "python" / "dovetail").is_dir():
        parser.error(f"{BUILD} has no Python package: run `make build`, or set DOVETAIL_BUILD_DIR")
    runner = Runner(arguments.python, arguments.seconds, arguments.native)
    known = tomllib.loads((HERE / "foreign_programs.toml").read_text())
    rows: dict[str, list[Row]] = {"programs": [], "elsewhere": [], "tutorial": []}
    parts = {
        "programs": (
            "compss",
            lambda: run_programs(runner, bench(known["programs"], arguments.names), rows["programs"]),
        ),
        "elsewhere": (
            "compss",
            lambda: run_programs(runner, elsewhere(known["elsewhere"], arguments.names), rows["elsewhere"]),
        ),
        "tutorial": (
            "tutorial_apps",
            lambda: run_programs(runner, tutorial(known["tutorial"], arguments.names), rows["tutorial"]),
        ),
        "dislib": ("dislib", lambda: run_dislib(runner, arguments.names, known["dislib"]["left_out"])),
    }
    faults: list[str] = []
    count = 0
    for name, (source, part) in parts.items():
        if arguments.only and name not in arguments.only:
            continue
        missing = [str(path) for path in (Path(arguments.python), SOURCES / source, PYCOMPSS) if not path.exists()]
        if missing:
            print(f"{name}: left out, there is no {', no '.join(missing)}; scripts/setup_foreign.sh gets it")
            continue
        print(name, flush=True)
        wrong, number = part()
        faults += wrong
        count += number
    if arguments.list is not None:
        write_list(arguments.list, rows)
    print("\n".join(faults) or ("Everything ends as it must." if count else "Nothing could be run."))
    return 1 if faults else (0 if count else SKIPPED)


if __name__ == "__main__":
    sys.exit(main())
