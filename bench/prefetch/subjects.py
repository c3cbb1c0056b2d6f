"""Programs that know nothing of Dovetail, and data for them: what programs.py and others measure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from device_unavailable import DeviceUnavailable

# Of the package hmmer-examples: the models and the query of HMMER's own tutorial.
TUTORIAL = Path("/usr/share/doc/hmmer/examples/tutorial")
MODELS = 4000
RARE = 25  # one model in so many is a globin, which the query fits
FOLDERS, FILES_EACH = 400, 50
BRANCHES, BASKETS, ENTRIES = 40, 120, 20_000

_MAKE_TREE = """
import sys, numpy, uproot
path, branches, baskets, entries = sys.argv[1], *map(int, sys.argv[2:])
random = numpy.random.default_rng(20)
names = [f"quantity_{number:02}" for number in range(branches)]
with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
    file.mktree("events", dict.fromkeys(names, "float32"))
    for _ in range(baskets):
        file["events"].extend({name: random.normal(size=entries).astype("float32").round(3) for name in names})
"""
_READ_TREE = """
import sys, uproot
events = uproot.open(sys.argv[1])["events"]
total = 0.0
for part in events.iterate(["quantity_03", "quantity_17", "quantity_31"], step_size=int(sys.argv[2]), library="np"):
    total += sum(float(values.sum()) for values in part.values())
print(f"{total:.3f}")
"""
# Rows of 4 KB come in the order of their numbers, so that those of one station lie far apart.
_MAKE_TABLE = """
import random, sqlite3, sys
path, rows, stations = sys.argv[1], *map(int, sys.argv[2:])
numbers = random.Random(20)
with sqlite3.connect(path) as table:
    table.execute("create table samples (number integer primary key, station integer, data blob)")
    table.executemany("insert into samples values (?, ?, ?)", ((k, numbers.randrange(stations), numbers.randbytes(4000)) for k in range(rows)))
    table.execute("create index stations on samples (station)")
"""
_SELECT_RANGE = """
import sqlite3, sys, zlib
rows = sqlite3.connect(sys.argv[1]).execute("select data from samples where station between 10 and 19")
print(sum(zlib.crc32(data) for data, in rows))
"""
_SELECT_AT_RANDOM = """
import random, sqlite3, sys, zlib
table, numbers = sqlite3.connect(sys.argv[1]), random.Random(21)
keys = [numbers.randrange(int(sys.argv[2])) for _ in range(2000)]
print(sum(zlib.crc32(table.execute("select data from samples where number = ?", (key,)).fetchone()[0]) for key in keys))
"""
ROWS, STATIONS = 45_000, 100

_READ_MAPPED = """
import numpy, sys
rows = numpy.memmap(sys.argv[1], numpy.float64, "r").reshape(-1, 8192)
print(sum(float(rows[number].sum()) for number in range(0, len(rows), 3)))
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """`megabytes`: that its data take at most. `make`: makes them in this folder, and returns the program with its words. `waken`: the same program, doing nothing,
    so that it is in memory itself. `is_seen_from_within`: it reads by calls of the C library, which it finds when it starts, or in mapped memory."""

    megabytes: int
    make: Callable[[Path], list[str]]
    waken: list[str]
    is_seen_from_within: bool = True


def _run(words: Sequence[object], folder: Path | None = None) -> None:
    try:
        done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DeviceUnavailable(f"{words[0]} is not installed") from error
    if done.returncode != 0:
        raise DeviceUnavailable(f"{words[0]}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")


def hmmscan(folder: Path) -> list[str]:
    """A database of many models, of which few fit the query. They are the tutorial's, each with a name of its own."""
    if not (TUTORIAL / "fn3.hmm").exists():
        raise DeviceUnavailable(f"{TUTORIAL}: there are no models (package hmmer-examples)")
    texts = {name: (TUTORIAL / f"{name}.hmm").read_text() for name in ("fn3", "Pkinase", "globins4")}
    database = folder / "models.hmm"
    with database.open("w") as out:
        for number in range(MODELS):
            name = "globins4" if number % RARE == 0 else ("fn3", "Pkinase")[number % 2]
            # Names and accessions are keys of the database.
            out.write(re.sub(r"^(NAME|ACC) .*", rf"\1  {name}_{number}", texts[name], flags=re.MULTILINE))
    _run(["hmmpress", "-f", database])
    return ["hmmscan", "--cpu", "0", "--noali", str(database), str(TUTORIAL / "HBB_HUMAN")]


def git_status(folder: Path) -> list[str]:
    tree = folder / "tree"
    for number in range(FOLDERS):
        place = tree / f"part_{number % 20}" / f"folder_{number}"
        place.mkdir(parents=True)
        for name in range(FILES_EACH):
            (place / f"file_{name}.txt").write_text(f"{number} {name}\n" * 20)
    _run(["git", "init", "-q"], tree)
    _run(["git", "add", "."], tree)
    _run(["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-qm", "all"], tree)
    # Until the files are older than the index, git reads them all.
    _run(["git", "status"], tree)
    return ["git", "-C", str(tree), "--no-optional-locks", "status", "--short"]


def uproot(interpreter: str, folder: Path) -> list[str]:
    """Three of many branches of a tree, whose baskets lie between the others'."""
    path = folder / "events.root"
    _run([interpreter, "-c", _MAKE_TREE, path, BRANCHES, BASKETS, ENTRIES])
    program = folder / "read_tree.py"
    program.write_text(_READ_TREE)
    return [interpreter, str(program), str(path), str(ENTRIES)]


def table(query: str, words: Sequence[object], folder: Path) -> list[str]:
    path = folder / "samples.db"
    _run([sys.executable, "-c", _MAKE_TABLE, path, ROWS, STATIONS])
    return [sys.executable, "-c", query, str(path), *(str(word) for word in words)]


def mapped(folder: Path) -> list[str]:
    """Every third row, of 64 KiB, of a file of 400 MiB that NumPy has mapped."""
    import numpy

    path = folder / "rows.bin"
    values = numpy.random.default_rng(20).normal(size=(50, 16, 8192))
    with path.open("wb") as out:
        for _ in range(8):
            values.tofile(out)
    return [sys.executable, "-c", _READ_MAPPED, str(path)]


def static(reader: Path, folder: Path) -> list[str]:
    """3 000 reads of 16 KiB at random, each piece of a file once. It prints a checksum, and its seconds, which are cut off."""
    path = folder / "data.bin"
    path.write_bytes(os.urandom(3000 * 16384))
    only_checksum = 'set -o pipefail; "$@" | cut -d " " -f 1'
    return ["bash", "-c", only_checksum, "bash", str(reader), *f"read random {path} 3000 16384 0".split()]


def subjects(interpreter: str | None, binaries: Path) -> dict[str, Subject]:
    """By name. `interpreter`: a Python that has uproot. `binaries`: the folder of the programs of this bench."""
    python = interpreter or sys.executable
    return {
        "hmmscan": Subject(1024, hmmscan, ["hmmscan", "-h"]),
        "git": Subject(1024, git_status, ["git", "--version"]),
        "sqlite_range": Subject(
            1024, lambda folder: table(_SELECT_RANGE, [], folder), [sys.executable, "-c", "import sqlite3, zlib"]
        ),
        "sqlite_random": Subject(
            1024,
            lambda folder: table(_SELECT_AT_RANDOM, [ROWS], folder),
            [sys.executable, "-c", "import random, sqlite3, zlib"],
        ),
        "memmap": Subject(1024, mapped, [sys.executable, "-c", "import numpy"]),
        "static": Subject(
            1024,
            lambda folder: static(binaries / "prefetch_reader_static", folder),
            ["true"],
            is_seen_from_within=False,
        ),
        "uproot": Subject(1024, lambda folder: uproot(python, folder), [python, "-c", "import uproot, numpy"]),
    }
