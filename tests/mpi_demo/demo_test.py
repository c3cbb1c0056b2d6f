"""`make demo-mpi` at small size: right, with a wrong result, with a run that fails, and without its programs.

Called with the name of an MPI library. Status 77: it cannot start ranks here.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "examples" / "mpi_demo")]

import hangs  # noqa: E402
from applications import APPLICATIONS  # noqa: E402

LIBRARY = sys.argv[1]
DEMO = [sys.executable, str(SOURCE / "examples" / "mpi_demo" / "demo.py"), "--small", "--library", LIBRARY]


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def everything_is_run_and_drawn(folder: Path) -> None:
    done = hangs.run([*DEMO, "--build-dir", BUILD, "--output", folder], timeout=280)
    check(done.returncode == 0, f"exit status {done.returncode}:\n{done.stdout}{done.stderr}")
    runs = json.loads((folder / "messages.json").read_text())["runs"]
    expected = [(application.name, variant) for application in APPLICATIONS for variant in application.variants]
    check([(run["application"], run["variant"]) for run in runs] == expected, f"not all were run: {runs}")
    check(all(run["median_s"] > 0 for run in runs), f"{runs}")
    check("[  0 %] streaming" in done.stderr, f"no progress: {done.stderr}")
    picture = (folder / "messages.png").read_bytes()
    check(picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5000, "the picture is no PNG")


def pretend(folder: Path, body: str) -> Path:
    """A build folder whose programs are a script that is run by each rank; it has the variant as $variant."""
    for application in APPLICATIONS:
        program = folder / "bin" / application.program.format(library=LIBRARY)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\nvariant=$2\n[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 0 ] || exit 0\n{body}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def what_is_wrong_is_told(folder: Path) -> None:
    report = '{"correct": true, "wrong": "", "checksum": "\'$variant\'", "metrics": {"seconds": [1]}}'
    cases = {
        "differ: messages-only in turn 1 messages-only, multiple in turn 1 multiple": (1, f"echo '{report}'"),
        "no space left": (1, "echo no space left >&2; exit 3"),
        "lost a block": (1, 'echo \'{"correct": false, "wrong": "lost a block"}\'; exit 1'),
    }
    for number, (text, (status, body)) in enumerate(cases.items()):
        build = pretend(folder / f"build-{number}", body)
        done = hangs.run([*DEMO, "--build-dir", build, "--output", folder / "output"], timeout=100)
        check(done.returncode == status and text in done.stderr, f"{text}: {done.returncode}\n{done.stderr}")
    done = hangs.run([*DEMO, "--build-dir", folder / "nothing", "--output", folder / "output"], timeout=100)
    check(done.returncode == 2 and "is missing" in done.stderr, f"{done.returncode}\n{done.stderr}")


def main() -> int:
    if hangs.run([f"mpiexec.{LIBRARY}", "-n", "1", "true"], timeout=60).returncode != 0:
        print(f"mpiexec.{LIBRARY} -n 1 true fails", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "right").mkdir()
        everything_is_run_and_drawn(Path(name) / "right")
        what_is_wrong_is_told(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
