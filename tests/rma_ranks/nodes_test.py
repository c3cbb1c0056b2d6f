"""Ranks on two nodes, which are network namespaces with a link between them: what holds within a node holds there, and the link may fail.

With DOVETAIL_TEST_LONG all tests of ranks run there, which takes minutes; else one program does.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402
import launcher  # noqa: E402
import nodes  # noqa: E402

LINKS, ENDS, *LAUNCHED = sys.argv[1:]
FOLDER = Path(__file__).resolve().parent
SECONDS = 200
HAS_PYTHON = Path(os.environ["DOVETAIL_BUILD_DIR"], "python", "dovetail", "_core.pyi").exists()
MILLISECONDS_DOWN = 100
SECONDS_AWAY = 30


def run(environment: dict[str, str], *command: str) -> None:
    done = hangs.run(command, timeout=SECONDS, env=environment)
    if done.returncode != 0:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def launch(environment: dict[str, str], program: str) -> None:
    run(environment, *launcher.command(2, environment["DOVETAIL_TEST_NODE"], program, keep=True))


@contextlib.contextmanager
def begun(environment: dict[str, str], *program: str) -> Iterator[subprocess.Popen[str]]:
    """Two ranks, which have begun."""
    command = launcher.command(2, environment["DOVETAIL_TEST_NODE"], *program, keep=True)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        said = sorted(started.stdout.readline() for _ in range(2))
        if said != ["rank 0: begins\n", "rank 1: begins\n"]:
            sys.exit(f"{program}: {said}")
        yield started


def check(case: str, started: subprocess.Popen[str], wanted: list[str]) -> None:
    said = sorted(re.sub(r"process \d+", "process P", line) for line in started.stdout.read().splitlines())
    if started.wait() != 0 or said != sorted(wanted):
        sys.exit(f"{case}: status {started.returncode}\n" + "\n".join(said) + "\nwanted\n" + "\n".join(sorted(wanted)))


def link_is_a_device(environment: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "dovetail.toml"
        config.write_text('[[device]]\nname = "link"\nwrite = 100\n')
        with begun(environment | {"DOVETAIL_TEST_CONFIG": str(config)}, LINKS, "limited") as started:
            check("limited", started, ["rank 0: right", "rank 1: right"])


def rank_stops(environment: dict[str, str]) -> None:
    with begun(environment, LINKS, "stopped") as started:
        what = "write of 67108864 bytes at 0 in segment 0 of rank 1"
        check("stopped", started, [f"rank 0: task 'large' failed: {what} failed: this process has ended its group"])


def link_goes_and_comes(place: nodes.Nodes, environment: dict[str, str]) -> None:
    with begun(environment, LINKS, "flapping") as started:
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


def link_is_away(place: nodes.Nodes, environment: dict[str, str], silence: int) -> None:
    """While a program moves data, which it goes on with until the link is there again. `silence`: seconds until it gives the other rank up; then the
    link stays away."""
    is_given_up = silence < SECONDS_AWAY
    with tempfile.TemporaryDirectory() as folder:
        is_there_again = Path(folder) / "again"
        file = {"DOVETAIL_TEST_FILE": str(is_there_again)}
        with begun(environment | file, LINKS, "outage", str(silence)) as started:
            place.link("down")
            if not is_given_up:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    started.wait(SECONDS_AWAY)
                place.link("up")
                is_there_again.touch()
            said = sorted(started.stdout.read().splitlines())
            started.wait()
    place.link("up")
    place.wait_until_reachable()
    lost = r"task '(waits|writes)' failed: .*: rank {} \(process \d+\) cannot be reached any more.*"
    wanted = [f"rank {rank}: " + (lost.format(1 - rank) if is_given_up else "right") for rank in range(2)]
    if len(said) != 2 or not all(re.fullmatch(*pair) for pair in zip(wanted, said, strict=True)):
        sys.exit(
            f"outage {silence}: status {started.returncode}\n" + "\n".join(said) + "\nwanted\n" + "\n".join(wanted)
        )


def link_goes(place: nodes.Nodes, environment: dict[str, str], failures: list[str], *program: str) -> None:
    """Both ranks tell each failure, and of whom."""
    with begun(environment, *program) as started:
        place.link("down")
        lost = [f"rank {rank} (process P) cannot be reached any more" for rank in range(2)]
        said = started.stdout.read().splitlines()
        started.wait()
        said = [re.sub(r"process \d+", "process P", line) for line in said]
        for rank in range(2):
            for failure in failures:
                begin = f"rank {rank}: task {failure}"
                if not any(line.startswith(begin) and lost[1 - rank] in line for line in said):
                    sys.exit(f"{program}: '{begin}' and '{lost[1 - rank]}' are missing in\n" + "\n".join(said))
    place.link("up")
    place.wait_until_reachable()


def ctrl_c(environment: dict[str, str]) -> None:
    program = [sys.executable, str(FOLDER / "interrupted.py"), "data"]
    command = launcher.command(2, environment["DOVETAIL_TEST_NODE"], *program, keep=True)
    done = hangs.run(command, timeout=SECONDS, env=environment)
    if done.returncode != 0 or done.stdout != "interrupted\n":
        sys.exit(f"Ctrl-C: status {done.returncode}\n{done.stdout}\n{done.stderr}")


def main() -> None:
    with nodes.two_nodes() as place:
        environment = os.environ | {"DOVETAIL_TEST_NODE": place.command, "DOVETAIL_TEST_TRANSPORT": "libfabric"}
        if os.environ.get("DOVETAIL_TEST_LONG"):
            run(environment, sys.executable, str(FOLDER / "launch_test.py"), *LAUNCHED)
            run(environment, sys.executable, str(FOLDER / "ends_test.py"), ENDS)
            if HAS_PYTHON:
                run(environment, sys.executable, str(FOLDER / "python_test.py"))
        else:
            launch(environment, LAUNCHED[0])
        link_is_a_device(environment)
        rank_stops(environment)
        link_goes_and_comes(place, environment)
        if os.environ.get("DOVETAIL_TEST_LONG"):
            # TCP tries again at times that double, so data goes on up to as long again after the link is there.
            link_is_away(place, environment, 6 * SECONDS_AWAY)
            link_is_away(place, environment, 2)
        waits = "failed: notification 0 of segment 0"
        reads = "failed: read of 8 bytes at 0 in segment 0"
        link_goes(place, environment, [f"'waits' {waits}", f"'reads' {reads}"], LINKS, "silent")
        if HAS_PYTHON:
            path = {"PYTHONPATH": os.environ["DOVETAIL_BUILD_DIR"] + "/python", "PYTHONDONTWRITEBYTECODE": "1"}
            silent = str(FOLDER / "silent.py")
            link_goes(place, environment | path, [f"'wait' {waits}"], sys.executable, silent)
            ctrl_c(environment | path)


try:
    main()
except nodes.NoNodes as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
