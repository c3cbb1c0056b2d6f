"""The programs that HDF5 is tested with, natively and under the connector: they pass, and leave the same bytes in their files."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import support

TIMEOUT = 900
EVERY_PART = support.BUILD / "lib" / "libhdf5_every_part.so"
# Seconds in all. scripts/setup_hdf5.sh builds them, as those below.
SHORT = ("chunk_info", "direct_chunk", "extend", "external", "file_image", "mount", "select_io_dset")
# Not `cache_image`: it takes what an identifier leads to for the native connector's file. HDF5 leaves it out under other connectors, too.
LONG = ("cmpd_dset", "dsets", "fillval", "links", "mdset", "objcopy", "set_extent", "testhdf5", "vds")
# It chooses by what a connector says it can do; the others leave out what needs the native connector.
API = ("h5_api_test",)
VERDICT = re.compile(r"^ *(?:Testing )?(.*?) +(PASSED|-SKIP-|\*FAILED\*)$", re.MULTILINE)


def ended_in(folder: Path, program: str, environment: dict[str, str]) -> support.Ended:
    """Its files stay in `folder`, which is emptied first. Some have its name in them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "testfiles").symlink_to(support.CACHE / "threadsafe" / "testfiles")
    data = {
        "srcdir": str(support.CACHE / "threadsafe"),
        "HDF5_ALARM_SECONDS": str(TIMEOUT),
        "HDF5_NOCLEANUP": "1",
    }
    return support.run([support.TOOLS / program], {**environment, **data}, folder, timeout=TIMEOUT)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def hdf5_tests(program: str, repeats: int, folder: Path) -> list[str]:
    """One of HDF5's own programs, natively once and under the connector many times; what it leaves in files is the same, byte for byte."""
    if not (support.TOOLS / program).is_file():
        return [f"{support.TOOLS / program} is missing: run `make setup-hdf5`"]
    faults, times = [], []
    native: tuple[Counter[tuple[str, str]], dict[str, bytes]] = (Counter(), {})
    for turn in range(repeats + 1):
        # Every other turn also tests what HDF5 itself leaves out under a connector.
        whole = turn % 2 == 1
        preloaded = f"{support.CLOCK}:{EVERY_PART}" if whole else str(support.CLOCK)
        environment = (support.under_dovetail if turn else support.clean)(LD_PRELOAD=preloaded)
        start = time.monotonic()
        ended = ended_in(folder, program, environment)
        times.append(time.monotonic() - start)
        verdicts, files = Counter(VERDICT.findall(ended.output)), files_in(folder)
        if turn == 0:
            if ended.status:
                return [f"{program} fails natively: status {ended.status}\n{ended.output[-2000:]}"]
            native = verdicts, files
            continue
        # Where parts are left out, bytes that HDF5 never sets (padding of references) are others than natively.
        compared = files if whole else {}
        differing = sorted(path for path, content in compared.items() if native[1].get(path) != content)
        missing = sorted(native[1].keys() - files.keys()) if whole else []
        failed = [name for name, verdict in (verdicts - native[0]) if verdict == "*FAILED*"]
        lost = sorted(name for name, verdict in (native[0] - verdicts) if verdict == "PASSED") if whole else []
        if ended.status or failed or lost or differing or missing:
            faults.append(
                f"{program}, turn {turn}: status {ended.status}; failed: {failed}; natively passed, and not here: {lost}; "
                f"files that differ from native's: {differing}, that are missing: {missing}\n{ended.errors[-2000:]}"
            )
    print(
        f"  {program}: {sum(native[0].values()) or 'no'} verdicts and {len(native[1])} files, native {times[0]:.1f} s, "
        f"{repeats} times under dovetail {max(times[1:]):.1f} s at most",
        flush=True,
    )
    return faults


def own_tests(programs: tuple[str, ...], repeats: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="dovetail-hdf5-") as folder:
        return [fault for program in programs for fault in hdf5_tests(program, repeats, Path(folder) / "run")]
