"""Other projects' tests of MPI's files, as they are and with every file staged: they must end alike.

mpi4py's own (test_io, test_file) and those of ROMIO, which come with MPICH's source, under each MPI library. mpi4py's tests open their files with
MPI_MODE_DELETE_ON_CLOSE, with which nothing is staged: that one line is left out of the copy that is run. Exit status: 0 alike, 1 not, 77 nothing to run.
The sources are those of scripts/setup_foreign.sh. `DOVETAIL_BUILD_DIR` names the build.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import foreign  # noqa: E402 (behind the path to it)
import hangs  # noqa: E402

BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", ROOT / "build" / "release")).resolve()
LIBRARIES = ("mpich", "openmpi")
RANKS = {"mpi4py": 2, "romio": 4}
OF_TWO_RANKS = ("i_noncontig", "noncontig", "noncontig_coll", "types_with_zeros")
SECONDS = 1200
SKIPPED = 77
# They write gigabytes, or measure, or need a file of hints.
LEFT_OUT = ("big_extents", "large_array", "perf", "coll_perf", "syshints", "fstype_prefix")
# Debian's Open MPI refuses ranks of root, and more ranks than cores.
FOR_RANKS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def ended(library: str, ranks: int, words: list[str], folder: Path, staged: bool, more: dict[str, str]) -> str:
    """How it ended: what must be the same in both ways."""
    files, tier = folder / "files", folder / "tier"
    for each in (files, tier):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir()
    given = dict(more)
    if staged:
        configuration = folder / "configuration.json"
        hints = {"e10_cache": "enable", "e10_cache_path": str(tier)}
        configuration.write_text(json.dumps({"files": [{"names": ["*"], "hints": hints}]}))
        given |= {
            "LD_PRELOAD": str(BUILD / "lib" / f"libdovetail-mpiio-{library}.so"),
            "DOVETAIL_MPIIO_CONFIGURATION": str(configuration),
        }
    settings = [f"{name}={value}" for name, value in given.items()]
    command = [f"mpiexec.{library}", "-n", str(ranks), "env", *settings, *words]
    environment = {**os.environ, **FOR_RANKS, "TMPDIR": str(files)}
    try:
        done = hangs.run(command, env=environment, timeout=SECONDS, cwd=files)
    except hangs.Hung:
        return "no end"
    left = [path.name for path in tier.iterdir() if path.is_dir()]
    text = done.stdout + done.stderr
    passed = "No Errors" in text or "\nOK" in text
    # A test that fails leaves its file open, and so its log.
    return f"status {done.returncode}, {'passed' if passed else 'not passed'}{', logs are left' if left and passed else ''}"


def compare(name: str, library: str, words: list[str], folder: Path, more: dict[str, str]) -> bool:
    suite, test = name.split()
    ranks = 2 if test in OF_TWO_RANKS else RANKS[suite]
    plain, staged = (ended(library, ranks, words, folder, way, more) for way in (False, True))
    print(f"{name} ({library}): {plain}" + ("" if plain == staged else f"; staged: {staged}"), flush=True)
    return plain == staged


def mpi4py_suites(folder: Path) -> list[bool]:
    source = foreign.SOURCES / "mpi4py" / "test"
    if not source.exists() or foreign.python_with("mpi4py") is None:
        print("mpi4py: left out, its source or its package is missing")
        return []
    shutil.copytree(source, folder / "mpi4py")
    test = folder / "mpi4py" / "test_io.py"
    test.write_text(test.read_text().replace("        amode |= MPI.MODE_DELETE_ON_CLOSE\n", ""))
    # mpi4py asks for MPICH by the name that its own library has; Debian's has another one.
    abi = folder / "abi"
    abi.mkdir()
    debians = Path("/usr/lib", os.uname().machine + "-linux-gnu", "libmpich.so.12")
    if debians.exists():
        (abi / "libmpi.so.12").symlink_to(debians)
    alike = []
    for library in LIBRARIES:
        more = {"MPI4PY_MPIABI": library} | ({"LD_LIBRARY_PATH": str(abi)} if library == "mpich" else {})
        for module in ("test_io", "test_file"):
            words = [sys.executable, str(folder / "mpi4py" / "runtests.py"), "-q", "-i", module]
            alike.append(compare(f"mpi4py {module}", library, words, folder, more))
    return alike


def romio_tests(folder: Path) -> list[bool]:
    source = foreign.SOURCES / "mpich" / "src" / "mpi" / "romio" / "test"
    if not source.exists():
        print("ROMIO: left out, MPICH's source is missing")
        return []
    alike = []
    for library in LIBRARIES:
        for test in sorted(source.glob("*.c")):
            if test.stem in LEFT_OUT:
                continue
            program = folder / f"{test.stem}_{library}"
            subprocess.run([f"mpicc.{library}", "-w", "-O1", "-o", program, test], check=True)
            words = [str(program), "-fname", str(folder / "files" / "test")]
            alike.append(compare(f"romio {test.stem}", library, words, folder, {}))
    return alike


def main() -> int:
    if not all(shutil.which(f"mpiexec.{library}") for library in LIBRARIES):
        print("there are no two MPI libraries here")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="foreign-mpiio-", dir=BUILD) as name:
        folder = Path(name)
        alike = mpi4py_suites(folder) + romio_tests(folder)
    print("Each ends as it ends without." if all(alike) else f"{alike.count(False)} end differently.")
    return SKIPPED if not alike else 0 if all(alike) else 1


if __name__ == "__main__":
    sys.exit(main())
