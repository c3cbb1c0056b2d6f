"""libraries.py PREFIX SOURCE: looks at every installed library and program. Called by libraries_test.sh."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# Names of rooms that the library shows nevertheless, to the bindings that are installed with it.
FOR_BINDINGS = """
base::ProcessMutex base::allowed_processors base::memory_limit compression prefetch staging tasking::end_background tasking::set_background_options trace::detail::record_waited trace::detail::state trace::detail::wait_begins tasking::bind_event tasking::current_runtime tasking::current_task
tasking::current_worker tasking::fulfill_event tasking::pause_switches tasking::register_service tasking::request_flush
tasking::set_interrupt_look tasking::Throttle::pending
""".split()
ROOMS = ("base", "fiber", "trace", "tasking", "storage", "admission", "staging", "prefetch", "compression", "c")
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


def main() -> None:
    prefix, source = map(Path, sys.argv[1:])
    for binary in binaries(prefix):
        check_that_all_is_found(binary, prefix)
        check_thread_locals(binary)
    # Those of the other libraries (hdf5.h, omp) are theirs.
    own = [path for path in (source / "include").rglob("*.h*") if path.stem not in ("hdf5", "dovetail_omp")]
    headers = "\n".join(path.read_text() for path in own)
    # Implied by the headers, and so not written there.
    check_exports(next(prefix.rglob("libdovetail.so")), headers + " Delete operator ")


main()
