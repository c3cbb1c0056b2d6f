"""`make demo-staging` at small size: right, with a checkpoint that is lost, with a run that fails, and without its programs.

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
sys.path[:0] = [str(SOURCE / "scripts")]

import hangs  # noqa: E402

LIBRARY = sys.argv[1]
DEMO = [sys.executable, str(SOURCE / "examples" / "plate" / "demo.py"), "--small", "--library", LIBRARY]


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def everything_is_run_and_drawn(folder: Path) -> None:
    done = hangs.run([*DEMO, "--build-dir", BUILD, "--output", folder], timeout=280)
    said = f"exit status {done.returncode}:\n{done.stdout}{done.stderr}"
    check(done.returncode == 0 and "are the same bytes" in done.stdout, said)
    runs = json.loads((folder / "staging.json").read_text())["runs"]
    check(list(runs) == ["as it is", "staged", "killed", "started again"], said)
    phases = {name: [(phase["what"], phase["step"]) for phase in run["phases"]] for name, run in runs.items()}
    check(sum(what == "checkpoint" for what, _ in phases["staged"]) == 4, f"{phases}")
    check(phases["staged"] == phases["as it is"], f"{phases}")
    # Two checkpoints were closed when the ranks were killed, and the next run goes on from the last of these, or from one that was not told of.
    closed = [step for what, step in phases["killed"] if what == "checkpoint"]
    what, step = phases["started again"][0]
    check(len(closed) >= 2 and what == "begin" and step >= closed[-1], f"{phases}")
    check("end" not in dict(phases["killed"]) and phases["started again"][-1] == phases["staged"][-1], f"{phases}")
    picture = (folder / "staging.png").read_bytes()
    check(picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5000, "the picture is no PNG")
    check([path.name for path in folder.iterdir() if path.is_dir()] == [], "a folder is left behind")


# A simulation that is killed, and then begins at the first step though it had a checkpoint.
FORGETFUL = """
echo processes $$; echo begin 0 1 2
[ -e "$1/latest" ] && is_restarted=1
for number in 1 2 3 4; do
  step=$((number * $4)); echo compute $step 1 2
  echo heat > "$1/checkpoint.0"; echo "checkpoint.0 $number $step" > "$1/latest"; echo checkpoint $step 1 2
  [ "$(basename "$1")$is_restarted" = killed ] && [ $number = 2 ] && exec sleep 100
  [ $step -ge $3 ] && break
done
echo end $step 1 2
"""


def pretend(folder: Path, body: str) -> Path:
    """A build folder whose simulation is a script of each rank. It has its arguments, and the other programs of the real build."""
    program = folder / "bin" / "ranks" / f"plate_{LIBRARY}"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\n[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 0 ] || exit 0\n{body}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "bin" / "dovetail-staging").symlink_to(BUILD / "bin" / "dovetail-staging")
    (folder / "lib").symlink_to(BUILD / "lib")
    return folder


def what_is_wrong_is_told(folder: Path) -> None:
    cases = {
        "no space left": "echo no space left >&2; exit 3",
        "has failed": "echo MPI_File_open has failed >&2; exit 1",
        "was lost": FORGETFUL,
    }
    for number, (text, body) in enumerate(cases.items()):
        build = pretend(folder / f"build-{number}", body)
        done = hangs.run([*DEMO, "--build-dir", build, "--output", folder / "output"], timeout=100)
        said = done.stdout + done.stderr
        check(done.returncode == 1 and text in said, f"{text}: {done.returncode}\n{said}")
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
