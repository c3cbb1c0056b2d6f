"""What the environment asks of every program: done, or refused with the variable's name and exit status 2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from heat_support import BUILD, Skipped, check, field_file, hangs, main

PROGRAMS = BUILD / "bin"
HEAT, TIOM, C_EXAMPLE = PROGRAMS / "heat", PROGRAMS / "dovetail-tiom", PROGRAMS / "copy_and_checksum"


def commands(folder: Path) -> dict[str, list[str]]:
    """A short run of each program, which uses a runtime."""
    source = folder / "source"
    source.write_bytes(bytes(range(256)) * 1000)
    wanted = {
        HEAT: ["--field", field_file(folder), "--directory", folder / "run", "--steps", "2"],
        TIOM: ["--file", folder / "data", "--size", "256K", "--block", "8K", "--series", "2", "--rounds", "1",
               "--variant", "blocking", "--calibration", "1000", "--no-model"],
        C_EXAMPLE: [source, folder / "target"],
    }  # fmt: skip
    return {
        program.name: [str(program), *map(str, options)] for program, options in wanted.items() if program.is_file()
    }


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess:
    """The program, as if for the first time: heat does not overwrite what it has finished."""
    if "--directory" in command:
        shutil.rmtree(command[command.index("--directory") + 1], ignore_errors=True)
    return hangs.run(command, env={**os.environ, **environment}, timeout=100)


def good_values_are_followed(folder: Path) -> None:
    for name, command in commands(folder).items():
        for engine in ("auto", "threads", ""):
            done = run(command, DOVETAIL_ENGINE=engine)
            check(done.returncode == 0, f"{name} with engine '{engine}': {done.returncode}\n{done.stderr}")
        trace = folder / f"{name}.json"
        done = run(command, DOVETAIL_TRACE=str(trace))
        check(done.returncode == 0, f"{name} with a trace: {done.returncode}\n{done.stderr}")
        check(json.loads(trace.read_text())["traceEvents"], f"{name}: the trace is empty")


def bad_values_are_refused(folder: Path) -> None:
    nowhere = str(folder / "no" / "such" / "trace")
    for name, command in commands(folder).items():
        for variable, value, words in (
            ("DOVETAIL_ENGINE", "steam", ("auto", "uring", "aio", "threads")),
            ("DOVETAIL_TRACE", nowhere, ("No such file or directory",)),
            ("DOVETAIL_TRACE", str(folder), ("Is a directory",)),
        ):
            done = run(command, **{variable: value})
            what = f"{name} with {variable}={value}: status {done.returncode}\n{done.stdout}{done.stderr}"
            check(done.returncode == 2, what)
            check(all(word in done.stderr for word in (variable, value, *words)), what)


def an_engine_that_is_forbidden_is_refused(folder: Path) -> None:
    launcher = PROGRAMS / "dovetail-without-io-uring"
    if not launcher.is_file() or run([str(launcher), "true"]).returncode == 77:
        raise Skipped("io_uring cannot be forbidden here")
    for name, command in commands(folder).items():
        done = run([str(launcher), *command], DOVETAIL_ENGINE="uring")
        what = f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}"
        check(done.returncode == 2, what)
        check(all(word in done.stderr for word in ("DOVETAIL_ENGINE", "uring", "seccomp", "threads")), what)


if __name__ == "__main__":
    main(good_values_are_followed, bad_values_are_refused, an_engine_that_is_forbidden_is_refused)
