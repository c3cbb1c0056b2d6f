"""Programs that write as known codes do (examples/checkpoints), as they are and staged: they leave the same bytes, and read what they have written.

Called with the program that starts ranks, the library that stages, and the programs. Without DOVETAIL_TEST_LONG some of them run, in some ways.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

STARTER, LIBRARY = sys.argv[1:3]
PROGRAMS = [Path(program) for program in sys.argv[3:]]
FILES = 2
MEBIBYTES = 3
SECONDS = 120
IS_LONG = bool(os.environ.get("DOVETAIL_TEST_LONG"))
# For each MPI library those that differ most.
SHORT = ("block_tridiagonal_mpich", "vpic_hdf5_mpich", "flash_hdf5_openmpi", "flash_netcdf_openmpi")


class Place:
    """A folder of files, and a tier."""

    def __init__(self, folder: Path) -> None:
        self.files = folder / "files"
        self.tier = folder / "tier"
        self.files.mkdir(parents=True)
        self.tier.mkdir()

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.files.iterdir())}

    def logs(self) -> list[str]:
        return sorted(path.name for path in self.tier.iterdir() if path.is_dir())

    def hints(self, flush: str) -> dict[str, str]:
        return {"e10_cache": "enable", "e10_cache_path": str(self.tier), "e10_cache_flush_flag": flush}

    def configuration(self, flush: str, deferred: bool) -> dict[str, str]:
        path = self.files.parent / "configuration.json"
        rule = {"names": ["file*"], "deferred_close": deferred, "hints": self.hints(flush)}
        path.write_text(json.dumps({"files": [rule]}))
        return {"DOVETAIL_MPIIO_CONFIGURATION": str(path)}


def words_of(program: Path, place: Place, what: str, ranks: int, staged: bool, compute: float) -> list[str]:
    preload = ["env", f"LD_PRELOAD={LIBRARY}"] if staged else []
    numbers = [str(FILES), str(MEBIBYTES), str(compute)]
    return [STARTER, "-n", str(ranks), *preload, str(program), str(place.files), what, *numbers]


def run(
    program: Path,
    place: Place,
    what: str = "write",
    *,
    ranks: int = 4,
    staged: bool = True,
    compute: float = 0,
    hints: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    """Its standard error."""
    given = [f"{name}={value}" for name, value in (hints or {}).items()]
    words = [*words_of(program, place, what, ranks, staged, compute), *given]
    done = hangs.run(words, env={**os.environ, **(environment or {})}, timeout=SECONDS)
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "written through" not in done.stderr, done.stderr
    return done.stderr


def differences(expected: dict[str, bytes], found: dict[str, bytes]) -> str:
    """Empty: there are none. A file of megabytes says nothing in a message."""
    text = "" if expected.keys() == found.keys() else f"{list(expected)} and {list(found)}"
    for name in expected.keys() & found.keys():
        one, other = expected[name], found[name]
        if one != other:
            first = next(
                (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
                min(len(one), len(other)),
            )
            text += f"{name}: {len(one)} and {len(other)} bytes, the first that differs is {first}. "
    return text


def configured(program: Path, folder: Path, expected: dict[str, bytes]) -> None:
    place = Place(folder / "configured")
    run(program, place, environment=place.configuration("flush_immediate", True))
    assert not (text := differences(expected, place.contents())), text
    assert not place.logs()


def hinted(program: Path, folder: Path, expected: dict[str, bytes]) -> None:
    place = Place(folder / "hinted")
    run(program, place, hints=place.hints("flush_onclose"))
    assert not (text := differences(expected, place.contents())), text
    assert not place.logs()


def left_to_next_job(program: Path, folder: Path, expected: dict[str, bytes]) -> None:
    place = Place(folder / "left")
    environment = place.configuration("flush_none", False)
    run(program, place, compute=0.001, environment=environment)  # it reads nothing then
    assert len(place.logs()) >= 4 * FILES, f"nothing was staged: {place.logs()}"
    assert differences(expected, place.contents()), "it was drained"
    # It reads that from the tier, and drains it behind its closes.
    environment = place.configuration("flush_onclose", False)
    told = run(program, place, "read", ranks=3, environment=environment)
    assert "what an earlier run had left" in told
    assert not (text := differences(expected, place.contents())), text
    assert not place.logs()


def processes_of(program: Path, place: Place) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == str(program).encode() and str(place.files).encode() in words:
            found.append(int(entry.name))
    return found


def killed_in_second_file(program: Path, folder: Path, expected: dict[str, bytes]) -> None:
    """All ranks at once. The first file was closed, and lies in the logs alone."""
    place = Place(folder / "killed")
    environment = place.configuration("flush_none", False)
    words = words_of(program, place, "write", 4, True, 0.001)
    job = subprocess.Popen(
        words, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + SECONDS
    while not [log for log in place.tier.glob("file1-*/*.log") if log.stat().st_size > 0]:
        assert job.poll() is None and time.monotonic() < end, "the second file was not begun"
    for process in processes_of(program, place):
        os.kill(process, signal.SIGKILL)
    job.wait(SECONDS)
    assert job.returncode != 0, "it had ended before it was killed"
    # As a job that starts again from the last file that was closed, and drains that behind its close.
    environment = place.configuration("flush_onclose", False)
    words = words_of(program, place, "read", 3, True, 0)
    words[words.index(str(FILES))] = "1"
    done = hangs.run(words, env={**os.environ, **environment}, timeout=SECONDS)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    name = "file0"
    assert not (text := differences({name: expected[name]}, {name: place.contents()[name]})), text


def main() -> None:
    for program in PROGRAMS:
        tests = [left_to_next_job]
        if IS_LONG:
            tests += [configured, hinted]
        elif program.name.removeprefix("checkpoints_") not in SHORT:
            continue
        if IS_LONG or program.name == "checkpoints_flash_hdf5_openmpi":
            tests.append(killed_in_second_file)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plain = Place(folder / "plain")
            run(program, plain, staged=False)
            expected = plain.contents()
            for test in tests:
                begin = time.monotonic()
                test(program, folder, expected)
                print(f"{program.name} {test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
