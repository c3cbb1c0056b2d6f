"""`dovetail.rma` under `dovetail launch` and under each mpiexec that is given, and what is told of a process that was killed."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

FOLDER = Path(__file__).resolve().parent
PROGRAM = str(FOLDER / "python_ranks.py")
SECONDS = 150
NODE = os.environ.get("DOVETAIL_TEST_NODE", "").split()  # runs a rank on its node; none: all run on this one
LAUNCH = [sys.executable, "-m", "dovetail.cli", "launch"]


def run(status: int, output: list[str], *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = hangs.run(list(command), timeout=SECONDS, env=environment)
    if done.returncode != status or done.stdout.split() != output:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


run(137, ["told"] * 2, *LAUNCH, "-n", "3", "--keep-going", *NODE, sys.executable, PROGRAM, "death")
for count in (2,) if NODE else (2, 4):
    run(0, ["right"] * count, *LAUNCH, "-n", str(count), *NODE, sys.executable, PROGRAM)
if NODE:
    sys.exit(0)
run(0, ["right"], sys.executable, PROGRAM)
for starter in sys.argv[1:]:
    run(0, ["right"] * 2, starter, "-n", "2", sys.executable, PROGRAM)
# A file in Python needs no right to be executed, as for `dovetail run`.
run(0, ["right"] * 2, *LAUNCH, "-n", "2", PROGRAM)
run(2, [], *LAUNCH, "-n", "2", "no-such-program")
INTERRUPTED = [sys.executable, str(FOLDER / "interrupted.py")]
run(0, ["interrupted"], *INTERRUPTED, "wait")
with tempfile.TemporaryDirectory() as folder:
    pipe = f"{folder}/pipe"
    os.mkfifo(pipe)
    for wait in ("start", "allocate", "notify"):
        run(0, ["interrupted"], *LAUNCH, "-n", "2", *INTERRUPTED, wait, pipe)
