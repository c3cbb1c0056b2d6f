"""Checks the rules of the tree that no compiler checks.

1. A room includes only itself and the rooms that CMakeLists.txt lists below it (`dovetail_room(x DEPENDS ...)`). A door, tool, benchmark or
   example includes the rooms that its own CMakeLists.txt lists (`dovetail_includes_rooms(target rooms...)`), and no other folder's files.
   The tests of a room include that room and those below it.
2. The units of a folder lie in layers: what they include or import never leads back to them (layers.py says what a unit is).
3. A public header includes nothing but public headers, the standard library and a few POSIX headers, and compiles alone. Those for programs
   with MPI include its header as well.
4. A source file has at most 500 lines, but for one that a script writes.
5. No committed file names the host of a package registry or an absolute path of somebody's machine.
6. README.md names the folder of every room and door: a reader learns the architecture from it.
7. Rooms and doors take locks of src/base, which clang checks (base/thread_safety.hpp). Public headers cannot, nor can what implements their locks.

Every violation is printed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arrows import check_arrows
from layers import CXX_SUFFIXES, files_of, includes

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 500
UNCHECKED_LOCK = re.compile(
    r"std::(?:(?:recursive_|shared_|timed_)*mutex|lock_guard|unique_lock|shared_lock|scoped_lock)\b"
)
WITH_UNCHECKED_LOCKS = {
    f"src/{name}"
    for name in (
        "base/mutex.hpp",
        "base/recursive_mutex.hpp",
        "tasking/synchronization.cpp",
        "tasking/waiting_line.cpp",
        "tasking/waiting_line.hpp",
    )
}
SOURCE_SUFFIXES = CXX_SUFFIXES | {".f90", ".py", ".js", ".sh", ".cmake"}
POSIX_HEADERS = {"fcntl.h", "unistd.h", "sys/types.h", "sys/uio.h", "sys/stat.h"}
C_HEADERS = {"stdint.h", "stddef.h", "stdbool.h", "time.h", "errno.h"}
# Public headers for programs that have such a library anyway, and the compilers that find it, as far as they are here.
OF_MPI = ("mpi.h", ("mpicxx.mpich", "mpicxx.openmpi"))
OTHERS_HEADERS = {
    "mpi.hpp": OF_MPI,
    "mpi_collectives.h": OF_MPI,
    "mpi_collectives.hpp": OF_MPI,
    "mpi_describe.h": OF_MPI,
    "mpi_large_counts.hpp": OF_MPI,
    "mpi_operations.hpp": OF_MPI,
    "dovetail_mpi.h": OF_MPI,
    "dovetail_omp_mpi.h": OF_MPI,
}
# Written so that this file does not match itself.
FORBIDDEN = {
    "host of a package registry": re.compile(
        r"[p]ypi\.org|[p]ythonhosted\.org|[c]rates\.io|[n]pmjs\.(?:org|com)|proxy\.[g]olang\.org|[m]aven\.org|"
        r"repo\.[m]aven\.apache\.org|(?:deb|security|ftp|snapshot)\.[d]ebian\.org|[u]buntu\.com/ubuntu"
    ),
    "absolute path of a machine": re.compile(r"(?<![\w.~-])/(?:[w]ork|[h]ome/[a-z]\w*|[r]oot|[U]sers/\w+)/\w"),
}


def check_public_includes() -> list[str]:
    problems = []
    for path in files_of(ROOT / "include", CXX_SUFFIXES):
        for line, header in includes(path):
            standard = "/" not in header and "." not in header
            allowed = POSIX_HEADERS | C_HEADERS | {OTHERS_HEADERS.get(path.name, ("",))[0]}
            if not standard and header not in allowed and not header.startswith("dovetail"):
                problems.append(f"{path.relative_to(ROOT)}:{line}: a public header must not include {header}")
    return problems


def compile_alone(job: tuple[Path, list[str]]) -> str:
    path, command = job
    probe = f'#include "{path.relative_to(ROOT / "include")}"\n'
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I", str(ROOT / "include"), "-"]
    # Twice in a row, so that a missing include guard shows too.
    result = subprocess.run([*command, *flags], input=probe * 2, text=True, capture_output=True, check=False)
    if result.returncode == 0:
        return ""
    return f"{path.relative_to(ROOT)} does not compile alone with {' '.join(command)}:\n{result.stderr.strip()}"


def check_headers_alone(jobs: int) -> list[str]:
    cxx = [os.environ.get("CXX", "g++"), "-std=c++20", "-x", "c++"]
    c = [os.environ.get("CC", "gcc"), "-std=c11", "-x", "c"]
    headers = files_of(ROOT / "include", CXX_SUFFIXES)
    work = [(path, cxx) for path in headers if path.name not in OTHERS_HEADERS]
    work += [
        (path, [compiler, "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *cxx[1:]])
        for path in headers
        for compiler in OTHERS_HEADERS.get(path.name, ("", ()))[1]
        if shutil.which(compiler)
    ]
    work += [(path, c) for path in headers if path.suffix == ".h" and path.name not in OTHERS_HEADERS]
    work += [
        (path, [compiler.replace("mpicxx", "mpicc"), *c[1:]])
        for path in headers
        for compiler in OTHERS_HEADERS.get(path.name, ("", ()))[1]
        if path.suffix == ".h" and shutil.which(compiler)
    ]
    with ThreadPoolExecutor(jobs) as pool:
        return [problem for problem in pool.map(compile_alone, work) if problem]


def committed_files() -> list[Path]:
    """Files that git has or would take; in a source archive without git, all files."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode == 0:
        paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        skipped = {"build", ".venv", ".git"}
        paths = [p for p in ROOT.rglob("*") if not skipped & set(p.relative_to(ROOT).parts)]
    return sorted(p for p in paths if p.is_file() and not p.is_symlink())


def check_texts() -> list[str]:
    problems = []
    for path in committed_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        lines = content.decode(errors="replace").splitlines()
        name = path.relative_to(ROOT)
        is_written = any("Written by scripts/" in line for line in lines[:5])  # from a table, which is what people read
        if path.suffix in SOURCE_SUFFIXES and len(lines) > MAX_LINES and not is_written:
            problems.append(f"{name}: {len(lines)} lines; split it by concept (at most {MAX_LINES})")
        for number, line in enumerate(lines, 1):
            for what, pattern in FORBIDDEN.items():
                if match := pattern.search(line):
                    problems.append(f"{name}:{number}: {what}: {match.group()}")
    return problems


def check_locks() -> list[str]:
    """Locks of the standard library in rooms and doors, outside of comments."""
    problems = []
    for path in (path for top in ("src", "interpose", "bindings") for path in files_of(ROOT / top, CXX_SUFFIXES)):
        name = str(path.relative_to(ROOT))
        if name in WITH_UNCHECKED_LOCKS:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := UNCHECKED_LOCK.search(line.partition("//")[0]):
                problems.append(
                    f"{name}:{number}: clang does not check {match.group()}: take a lock of src/base/mutex.hpp"
                )
    return problems


def check_map() -> list[str]:
    """Folders of source files under src, interpose and bindings that the map of the tree leaves out."""
    folders = {path.parent for top in ("src", "interpose", "bindings") for path in files_of(ROOT / top, CXX_SUFFIXES)}
    names = sorted(str(folder.relative_to(ROOT)) for folder in folders)
    rooms = [name for name in names if len(name.split("/")) == 2 or name.startswith("src/comm/")]
    text = (ROOT / "README.md").read_text()
    return [f"README.md: the tree lacks `{room}`" for room in rooms if f"`{room}`" not in text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilations at a time")
    arguments = parser.parse_args()

    problems = check_arrows() + check_public_includes() + check_texts() + check_map() + check_locks()
    problems += check_headers_alone(arguments.jobs)
    for problem in problems:
        print(f"error: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
