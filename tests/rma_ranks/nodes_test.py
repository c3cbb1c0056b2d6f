"""Ranks on two nodes, which are network namespaces with a link between them: what holds within a node holds there, and the link may fail.

With DOVETAIL_TEST_LONG all tests of ranks run there, which takes minutes; else one program does.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402
import nodes  # noqa: E402

LINKS, ENDS, *LAUNCHED = sys.argv[1:]
FOLDER = Path(__file__).resolve().parent
SECONDS = 200
MILLISECONDS_DOWN = 100
LAUNCH = "import sys; sys.path.insert(0, sys.argv[1]); import launch; sys.exit(launch.launch(sys.argv[2:], 2, True))"


def run(environment: dict[str, str], *command: str) -> None:
    done = hangs.run([sys.executable, *command], timeout=SECONDS, env=environment)
    if done.returncode != 0:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def launch(environment: dict[str, str], program: str) -> None:
    run(environment, "-c", LAUNCH, str(SOURCE / "python" / "dovetail"), environment["DOVETAIL_TEST_NODE"], program)


@contextlib.contextmanager
def links(environment: dict[str, str], case: str) -> Iterator[subprocess.Popen[str]]:
    """Two ranks, which have begun."""
    command = [
        sys.executable,
        "-c",
        LAUNCH,
        str(SOURCE / "python" / "dovetail"),
        environment["DOVETAIL_TEST_NODE"],
        LINKS,
        case,
    ]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        begun = sorted(started.stdout.readline() for _ in range(2))
        if begun != ["rank 0: begins\n", "rank 1: begins\n"]:
            sys.exit(f"{case}: {begun}")
        yield started


def check(case: str, started: subprocess.Popen[str], wanted: list[str]) -> None:
    said = sorted(re.sub(r"process \d+", "process P", line) for line in started.stdout.read().splitlines())
    if started.wait() != 0 or said != sorted(wanted):
        sys.exit(f"{case}: status {started.returncode}\n" + "\n".join(said) + "\nwanted\n" + "\n".join(sorted(wanted)))


def link_goes_and_comes(place: nodes.Nodes, environment: dict[str, str]) -> None:
    with links(environment, "flapping") as started:
        while True:
            place.link("down")
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(MILLISECONDS_DOWN / 1000)
            place.link("up")
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(4 * MILLISECONDS_DOWN / 1000)
            if started.poll() is not None:
                break
        check("flapping", started, ["rank 0: right", "rank 1: right"])


def link_goes(place: nodes.Nodes, environment: dict[str, str]) -> None:
    with links(environment, "silent") as started:
        place.link("down")
        lost = [f"rank {rank} (process P) cannot be reached any more" for rank in range(2)]
        said = started.stdout.read().splitlines()
        started.wait()
        said = [re.sub(r"process \d+", "process P", line) for line in said]
        for rank in range(2):
            for label, what in (
                ("waits", "notification 0 of segment 0"),
                ("reads", "read of 8 bytes at 0 in segment 0"),
            ):
                begin = f"rank {rank}: task '{label}' failed: {what}"
                if not any(line.startswith(begin) and lost[1 - rank] in line for line in said):
                    sys.exit(f"silent: '{begin}' and '{lost[1 - rank]}' are missing in\n" + "\n".join(said))
    place.link("up")


def main() -> None:
    with nodes.two_nodes() as place:
        environment = os.environ | {"DOVETAIL_TEST_NODE": place.command, "DOVETAIL_TEST_TRANSPORT": "libfabric"}
        if os.environ.get("DOVETAIL_TEST_LONG"):
            run(environment, str(FOLDER / "launch_test.py"), *LAUNCHED)
            run(environment, str(FOLDER / "ends_test.py"), ENDS)
            if Path(os.environ["DOVETAIL_BUILD_DIR"], "python", "dovetail", "_core.pyi").exists():
                run(environment, str(FOLDER / "python_test.py"))
        else:
            launch(environment, LAUNCHED[0])
        link_goes_and_comes(place, environment)
        link_goes(place, environment)


try:
    main()
except nodes.NoNodes as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
