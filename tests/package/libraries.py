"""libraries.py PREFIX SOURCE BUILD: looks at every installed library and program, and at the extension of Python. Called by libraries_test.sh."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# Names of rooms that the library shows nevertheless, to the bindings that are installed with it.
FOR_BINDINGS = """
base::ProcessMutex base::allowed_processors base::check_object base::file_names_of base::matches base::memory_limit base::rank_of_process base::read_plain_file base::refuse_name base::refuse_value base::text_of_json comm::rma::set_message_library compression prefetching staging storage::Uninterposed storage::read_whole tasking::end_background tasking::set_background_options trace::detail::record_waited trace::detail::state trace::detail::wait_begins tasking::bind_event tasking::cancel_requested tasking::current_runtime tasking::current_task
tasking::current_worker tasking::fulfill_event tasking::pause_switches tasking::register_service tasking::request_flush
tasking::set_interrupt_look tasking::set_system_call_pause tasking::task_that_binds tasking::Throttle::pending
""".split()
ROOMS = (
    "base",
    "fiber",
    "trace",
    "tasking",
    "storage",
    "admission",
    "staging",
    "prefetching",
    "compression",
    "comm",
    "c",
)
# What the C library keeps for all libraries that are loaded late is 1 664 bytes, 512 of them for another purpose.
MOST_THREAD_LOCAL = 384


def output(*command: object) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True, env=environment
    ).stdout


def binaries(prefix: Path) -> list[Path]:
    found = [
        path
        for path in prefix.rglob("*")
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    assert len(found) >= 5, found
    return found


def check_that_all_is_found(binary: Path, prefix: Path) -> None:
    for line in output("ldd", binary).splitlines():
        assert "not found" not in line, f"{binary}: {line}"
        if "libdovetail" in line and "=>" in line:
            place = Path(line.split("=>")[1].split("(")[0].strip()).resolve()
            assert place.is_relative_to(prefix.resolve()), f"{binary} finds {place}"
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", output("readelf", "-dW", binary)):
        for entry in path.split(":"):
            assert entry.startswith("$ORIGIN"), f"{binary} looks for libraries in '{entry}'"


def check_thread_locals(binary: Path) -> None:
    """A library under the model 'initial-exec' takes all its thread-locals from the reserve."""
    if binary.parent.name == "bin":
        return
    foreign = [line for line in output("readelf", "-rW", binary).splitlines() if "TPOFF" in line and "@" in line]
    assert not foreign, f"{binary} uses thread-locals of other libraries, which may be out of reach: {foreign}"
    segment = re.search(r"^\s*TLS\s+(?:\S+\s+){4}(\S+)", output("readelf", "-lW", binary), re.MULTILINE)
    taken = int(segment[1], 16) if segment and "STATIC_TLS" in output("readelf", "-dW", binary) else 0
    assert taken <= MOST_THREAD_LOCAL, (
        f"{binary} takes {taken} bytes of the reserve, at most {MOST_THREAD_LOCAL} is asked for"
    )


def is_public(symbol: str, headers: str) -> bool:
    if re.fullmatch(r"dovetail_\w+", symbol):
        return re.search(rf"\b{symbol}\b", headers) is not None
    name = re.sub(r"^(typeinfo name for|typeinfo for|vtable for|non-virtual thunk to) ", "", symbol)
    if not name.startswith("dovetail::"):
        return False
    name = name.removeprefix("dovetail::")
    if any(re.match(rf"{re.escape(allowed)}\b", name) for allowed in FOR_BINDINGS):
        return True
    words = re.findall(r"\w+", re.split(r"[\[(]", name)[0])
    private = words[0] in ROOMS and not (
        words[0] == "trace" and words[1] in ("start", "stop", "recording", "summarize", "write", "Summary")
    )
    return not private and all(re.search(rf"\b{word}\b", headers) for word in words)


def declared_functions(headers: str) -> list[str]:
    """Functions of namespaces, in C++ and C, that the headers declare and do not define."""
    first = (
        r"^(?!inline|template|constexpr|using|struct|class|enum|namespace|friend|return|typedef|static_assert)(?=\w)"
    )
    pattern = re.compile(first + r"[\w:<>&*, ]+?[ *&](\w+)\([^;{}]*\)(?: noexcept)?;", re.MULTILINE)
    found = []
    for match in pattern.finditer(headers):
        line_before = headers[: match.start()].rstrip("\n").rpartition("\n")[2]
        if not line_before.startswith(("template", "  requires", "requires")):
            found.append(match[1])
    assert len(found) > 100, found
    return found


def check_exports(library: Path, headers: str) -> None:
    lines = output("nm", "-DC", "--defined-only", library).splitlines()
    symbols = {re.sub(r"^[0-9a-f]+ \S ", "", line) for line in lines}
    assert len(symbols) > 150, f"{library} shows {len(symbols)} symbols"
    hidden = sorted(symbol for symbol in symbols if not is_public(symbol, headers))
    assert not hidden, f"{library} shows what no header declares:\n" + "\n".join(hidden)
    functions = {re.split(r"[\[(]", symbol)[0].split("::")[-1] for symbol in symbols}
    missing = sorted({name for name in declared_functions(headers) if name not in functions})
    assert not missing, f"{library} does not show these functions of its headers: {missing}; see cmake/dovetail.map"
    print(f"{library.name}: {len(symbols)} public symbols")


# What the interposer stands in for, and the way in which libdovetail finds it.
POSIX = """
read readv write writev pread pread64 preadv preadv64 preadv2 preadv64v2 pwrite pwrite64 pwritev pwritev64 pwritev2 pwritev64v2
fsync fdatasync __read_chk __pread_chk __pread64_chk dovetail_posix_attach
"""
# What the library that sees reads stands in for.
PREFETCH = """
read pread pread64 readv preadv preadv64 preadv2 preadv64v2 lseek lseek64 mmap mmap64 sendfile sendfile64 copy_file_range splice
__read_chk __pread_chk __pread64_chk
open open64 openat openat64 creat creat64 __open_2 __open64_2 __openat_2 __openat64_2 close dup dup2 dup3 close_range closefrom
fopen fopen64 freopen freopen64 fclose fread fread_unlocked fgets fgets_unlocked getdelim __getdelim getline fgetc getc _IO_getc
fgetc_unlocked getc_unlocked fseek fseeko fseeko64 rewind fsetpos fsetpos64
__fread_chk __fread_unlocked_chk __fgets_chk __fgets_unlocked_chk
prctl unshare setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups
"""
# What libdovetail-staging.so stands before.
STAGING = """
_Exit _Fork __dprintf_chk __fxstat __fxstat64 __fxstatat __fxstatat64 __lxstat __lxstat64 __open64_2 __open_2 __openat64_2 __openat_2 __pread64_chk
__pread_chk __read_chk __vdprintf_chk __xstat __xstat64 _exit aio_fsync aio_fsync64 aio_read aio_read64 aio_write aio_write64 chmod clone close
close_range closefrom copy_file_range creat creat64 dprintf dup dup2 dup3 epoll_create1 eventfd execl execle execlp execv execve execveat execvp
execvpe fallocate fallocate64 fchmod fchmodat fclose fcntl fcntl64 fdatasync fdopen fexecve fopen fopen64 freopen freopen64 fsetxattr fstat fstat64
fstatat fstatat64 fsync ftruncate ftruncate64 futimens futimes futimesat ioctl link linkat lio_listio lio_listio64 lseek lseek64 lsetxattr lstat
lstat64 lutimes mkostemp mkostemp64 mkostemps mkostemps64 mkstemp mkstemp64 mkstemps mkstemps64 mmap mmap64 open open64 openat openat64 popen
posix_fallocate posix_fallocate64 posix_spawn posix_spawnp pread pread64 preadv preadv2 preadv64 preadv64v2 pwrite pwrite64 pwritev pwritev2 pwritev64
pwritev64v2 read readv remove rename renameat renameat2 sendfile sendfile64 sendmmsg sendmsg setxattr splice stat stat64 statx sync_file_range syncfs
syscall system truncate truncate64 unlink unlinkat utime utimensat utimes vdprintf vfork write writev
fts64_children fts64_read fts_children fts_read ftw ftw64 nftw nftw64 dlopen
setuid seteuid setreuid setresuid setgid setegid setregid setresgid chroot unshare setns lockf lockf64 inotify_init1
listxattr llistxattr flistxattr getxattr lgetxattr fgetxattr removexattr lremovexattr fremovexattr
"""
# What libdovetail-mpiio-<library>.so stands before: of both directions, and the rest. Where the library has MPI 4, each that takes a count has a large form.
MPIIO_TRANSFERS = """
{} {}_all {}_at {}_at_all {}_shared {}_ordered {}_all_begin {}_at_all_begin {}_ordered_begin i{} i{}_all i{}_at i{}_at_all i{}_shared
"""
MPIIO_OTHERS = """
MPI_File_close MPI_File_delete MPI_File_get_info MPI_File_get_size MPI_File_open MPI_File_preallocate MPI_File_seek MPI_File_seek_shared
MPI_File_set_atomicity MPI_File_set_info MPI_File_set_size MPI_File_set_view MPI_File_sync
MPI_File_read_all_end MPI_File_read_at_all_end MPI_File_write_all_end MPI_File_write_at_all_end MPI_Finalize MPI_Init MPI_Init_thread
"""
# Behind the functions of its header: those that the plugin and its report look up.
HDF5 = "dovetail_hdf5_serve dovetail_hdf5_write_trace"
# HDF5 asks for the first two; `getenv` tells HDF5 of the connector where the plugin is preloaded.
PLUGIN = "H5PLget_plugin_info H5PLget_plugin_type getenv"
# What libdovetail looks up in what speaks to an MPI library.
MPI_PLUGIN = "dovetail_mpi_library dovetail_mpi_lead_calls"
# Python asks for the first; the others are C called from C++ (bindings/python/module.cpp, gilstate.c).
CORE = "PyInit__core PyInit_core_of_main_interpreter dovetail_python_bind_gilstate"
# Whose templates and inline functions a compiler shows, and the types of our own that are thrown or compared.
OTHERS = ("std::", "nanobind::", "__gnu_cxx::")
OWN_TYPES = r"(typeinfo|typeinfo name|vtable) for dovetail::python::\w+"


def name_alone(symbol: str) -> str:
    """The qualified name of a function or object, without what it returns, takes and is a template of."""
    before = None
    while before != symbol:
        before, symbol = symbol, re.sub(r"<[^<>]*>", "", symbol)
    return symbol.partition("(")[0].rpartition(" ")[2]


def shown(library: Path) -> list[tuple[str, str]]:
    """The kind, as nm has it, and the name of each symbol that a library shows, without its version."""
    lines = [line.split(maxsplit=2) for line in output("nm", "-DC", "--defined-only", library).splitlines()]
    return [(kind, name.partition("@@")[0]) for _, kind, name in lines if kind != "A"]


def check_exact(library: Path, expected: set[str]) -> None:
    symbols = {name for _, name in shown(library)}
    assert symbols == expected, (
        f"{library} shows {sorted(symbols - expected)} and does not {sorted(expected - symbols)}"
    )
    print(f"{library.name}: {len(symbols)} symbols")


def check_core(library: Path) -> None:
    """Python loads it apart from all others, but not from those that were loaded before for all."""
    symbols = shown(library)
    inline = [
        name
        for kind, name in symbols
        if kind in "WVu" and (name_alone(name).startswith(OTHERS) or re.fullmatch(OWN_TYPES, name))
    ]
    others = {name for _, name in symbols if name not in inline}
    assert others == set(CORE.split()), (
        f"{library} shows {sorted(others ^ set(CORE.split()))} more or less than it must"
    )
    print(f"{library.name}: {len(others)} symbols, and {len(inline)} of inline functions")


def names_of_mpi(table: str, library: str) -> set[str]:
    """What libdovetail-mpi.so or libdovetail-mpi4.so stands before: each call in C and in the dialects of Fortran."""
    of_mpi3, of_mpi4 = table.split("#ifdef WITH_MPI_3")[1].split("#ifdef WITH_MPI_4")
    kinds = "STARTED|RECEIVED|COLLECTIVE|TRIED|HELD|NOTED|BEGUN|OWN"
    rows = re.findall(rf"^(?:{kinds})\((\w+), (\w+)", of_mpi4 if library == "mpi4" else of_mpi3, flags=re.MULTILINE)
    assert len(rows) > 80, rows
    in_c = re.findall(r"^(?:NOTED|HELD)_IN_C\((\w+)", of_mpi4, flags=re.MULTILINE) if library == "mpi4" else []
    if library == "mpi4":
        forms = ("MPI_{}", "mpi_{}_f08_large_", "mpi_{}_f08ts_large_")
    else:
        forms = ("MPI_{}", "mpi_{}", "mpi_{}_", "mpi_{}__", "mpi_{}_f08_", "mpi_{}_f08ts_")
    names = {form.format(c if form.startswith("MPI") else fortran) for c, fortran in rows for form in forms}
    return names | {f"MPI_{c}" for c in in_c}


def names_of_mpiio(large: bool) -> set[str]:
    calls = {f"MPI_File_{form}".format(way) for form in MPIIO_TRANSFERS.split() for way in ("read", "write")}
    return calls | set(MPIIO_OTHERS.split()) | {f"{call}_c" for call in calls if large}


def functions_of(header: Path, prefix: str) -> set[str]:
    """What a header of C declares; a type of a function is none."""
    text = re.sub(r"//.*|^typedef .*", "", header.read_text(), flags=re.MULTILINE)
    return set(re.findall(rf"\b({prefix}\w+)\(", text))


def main() -> None:
    prefix, source, build = map(Path, sys.argv[1:])
    for binary in binaries(prefix):
        check_that_all_is_found(binary, prefix)
        check_thread_locals(binary)
    # Those of the other libraries (hdf5.h, omp) are theirs.
    own = [
        path
        for path in (source / "include").rglob("*.h*")
        if path.stem not in ("hdf5", "dovetail_omp", "dovetail_omp_mpi")
    ]
    headers = "\n".join(path.read_text() for path in own)
    # Implied by the headers, and so not written there.
    check_exports(next(prefix.rglob("libdovetail.so")), headers + " Delete operator ")
    calls = (source / "interpose" / "mpi" / "calls.def").read_text()
    expected = {
        "libdovetail-posix.so": set(POSIX.split()),
        "libdovetail-prefetch.so": set(PREFETCH.split()),
        "libdovetail-staging.so": set(STAGING.split()),
        "libdovetail-omp.so": functions_of(source / "include" / "dovetail_omp.h", "dovetail_omp_"),
        "libdovetail-hdf5.so": functions_of(source / "include" / "dovetail" / "hdf5.h", "dovetail_H5")
        | set(HDF5.split()),
        "libdovetail-hdf5-plugin.so": set(PLUGIN.split()),
        **{
            f"libdovetail-{name}.so": {
                f"dovetail_{name}_lead",
                *names_of_mpi(calls, name),
            }
            for name in ("mpi", "mpi4")
        },
        "libdovetail-mpi-mpich.so": set(MPI_PLUGIN.split()),
        "libdovetail-mpi-openmpi.so": set(MPI_PLUGIN.split()),
        "libdovetail-mpiio-mpich.so": names_of_mpiio(large=True),
        "libdovetail-mpiio-openmpi.so": names_of_mpiio(large=False),
    }
    found = {library.name: library for library in prefix.rglob("libdovetail*.so")}
    assert set(found) - {"libdovetail.so"} <= set(expected), f"nothing says what {sorted(found)} must show"
    assert {"libdovetail-posix.so", "libdovetail-prefetch.so"} <= set(found), sorted(found)
    for name in sorted(set(found) - {"libdovetail.so"}):
        check_exact(found[name], expected[name])
    # With pip it is installed; `cmake --install` leaves it out.
    for extension in (build / "python" / "dovetail").glob("_core*.so"):
        check_core(extension)


main()
