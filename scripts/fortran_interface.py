"""Writes the Fortran modules of include/dovetail from its C headers.

`<header>.f90` declares what `<header>.h` declares: constants, structures and functions. The headers keep to what Fortran has a
counterpart for (see dovetail.h), so that the rules are few:

  int32_t, int64_t, size_t, double  integer(c_int32_t) and so on, by value
  void*, any opaque type*           type(c_ptr), by value; void** and the like: intent(out)
  a function                        type(c_funptr), by value
  const char*                       an array of characters that ends with c_null_char
  const structure*                  intent(in); an array if the next argument is `count`
  structure*                        intent(inout), since its `size` is set before
  int64_t* and so on                intent(out)
  an argument that "may be null"    type(c_ptr), by value, whatever it points to. The comment of the function, or that at the top of the
                                    header, says so in these words, after its name
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pycparser import c_ast, c_parser

INCLUDE = Path(__file__).resolve().parent.parent / "include" / "dovetail"
SCALARS = {
    "int32_t": "integer(c_int32_t)",
    "uint32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
}
# The names of modules differ from those of the functions and structures in them.
MODULES = {"dovetail": "dovetail_tasks"}
MARK = "Written by scripts/fortran_interface.py"
WIDTH = 132  # of a line, the most that Fortran takes


class Unsupported(Exception):
    """Something in a header that Fortran has no counterpart for."""


def module_of(header: Path) -> str:
    return MODULES.get(header.stem, header.stem)


def headers() -> list[Path]:
    """Without that of MPI: it needs an `mpi.h`, and has a module that was written by hand."""
    return sorted(path for path in INCLUDE.glob("dovetail*.h") if path.name != "dovetail_mpi.h")


def parse(text: str, name: str) -> c_ast.FileAST:
    """The declarations of a header that is C11 without macros, with the line numbers of the text."""
    code = re.sub(r"//.*", "", text)
    code = re.sub(
        r"^#ifdef __cplusplus\n.*?^#endif", lambda block: re.sub(r"[^\n]", "", block[0]), code, flags=re.M | re.S
    )
    code = re.sub(r"^#.*", "", code, flags=re.M)
    known = sorted({*SCALARS, *re.findall(r"\bdovetail_\w+(?=\*| \*)", code)} - {"double"} - set(defined(code)))
    prelude = " ".join(f"typedef int {known_name};" for known_name in known)
    return c_parser.CParser().parse(f'{prelude}\n#line 1 "{name}"\n{code}', "known before")


def defined(code: str) -> list[str]:
    return (
        re.findall(r"^typedef struct \w+ (\w+);", code, re.M)
        + re.findall(r"^\} (\w+);", code, re.M)
        + re.findall(r"\(\*(\w+)\)\(", code)
    )


def comment_above(lines: list[str], line: int) -> str:
    said: list[str] = []
    for text in reversed(lines[: line - 1]):
        if not text.startswith("///"):
            break
        said.insert(0, text.removeprefix("///").strip())
    return " ".join(said)


def may_be_null(argument: str, comment: str) -> bool:
    """Whether the comment says so: "`options` may be null", "`options` is copied and may be null"."""
    return re.search(rf"`\*?{argument}`[^`.;]*\bmay be null\b", comment) is not None


class Module:
    """What one header declares, as the lines of a Fortran module."""

    def __init__(self, name: str, text: str) -> None:
        self.lines = text.splitlines()
        top = re.match(r"(///.*\n)+", text)
        self.about = " ".join(line.removeprefix("///").strip() for line in top[0].splitlines()) if top else ""
        self.name = name
        self.structures: set[str] = set()
        self.functions_types: set[str] = set()
        self.constants: list[str] = []
        self.types: list[list[str]] = []
        self.interfaces: list[list[str]] = []
        for node in parse(text, name).ext:
            if node.coord is None or str(node.coord.file) != name:
                continue
            self.add(node)

    def add(self, node: c_ast.Node) -> None:
        if isinstance(node, c_ast.Typedef):
            self.add_typedef(node)
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.Enum):
            self.constants += [
                f"integer(c_int32_t), parameter :: {item.name} = {self.constant(item)}"
                for item in node.type.values.enumerators
            ]
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            self.interfaces.append(list(self.interface(node)))
        else:
            raise Unsupported(f"{node.coord}: a declaration that has no counterpart")

    def constant(self, item: c_ast.Enumerator) -> str:
        if not isinstance(item.value, c_ast.Constant):
            raise Unsupported(f"{item.coord}: {item.name} has no value of its own")
        return str(item.value.value)

    def add_typedef(self, node: c_ast.Typedef) -> None:
        type_ = node.type
        if isinstance(type_, c_ast.PtrDecl) and isinstance(type_.type, c_ast.FuncDecl):
            self.functions_types.add(node.name)
        elif isinstance(type_, c_ast.TypeDecl) and isinstance(type_.type, c_ast.Struct):
            if type_.type.decls is not None:
                self.structures.add(node.name)
                self.types.append(list(self.structure(node.name, type_.type)))
        else:
            raise Unsupported(f"{node.coord}: {node.name} is neither a structure nor a pointer to a function")

    def structure(self, name: str, struct: c_ast.Struct) -> Iterator[str]:
        yield f"type, bind(c) :: {name}"
        for field in struct.decls:
            # `size` is an intrinsic function of Fortran.
            label = "size_of_this" if field.name == "size" else field.name
            kind = self.by_value(field.type, str(field.coord))
            start = {"type(c_ptr)": "c_null_ptr", "type(c_funptr)": "c_null_funptr"}.get(kind, "0")
            yield f"  {kind} :: {label} = {start}"
        yield "end type"

    def by_value(self, type_: c_ast.Node, place: str) -> str:
        """The type of a field or result."""
        if isinstance(type_, c_ast.PtrDecl):
            return "type(c_funptr)" if isinstance(type_.type, c_ast.FuncDecl) else "type(c_ptr)"
        if not isinstance(type_, c_ast.TypeDecl) or not isinstance(type_.type, c_ast.IdentifierType):
            raise Unsupported(f"{place}: only integers of fixed width, size_t, double, pointers and structures")
        name = " ".join(type_.type.names)
        if name in SCALARS:
            return SCALARS[name]
        if name in self.functions_types:
            return "type(c_funptr)"
        if name in self.structures:
            return f"type({name})"
        raise Unsupported(f"{place}: Fortran has no '{name}'")

    def argument(self, declared: c_ast.Decl, following: str, comment: str) -> str:
        """Type and attributes of an argument."""
        place = str(declared.coord)
        type_ = declared.type
        if not isinstance(type_, c_ast.PtrDecl) or isinstance(type_.type, c_ast.FuncDecl):
            return f"{self.by_value(type_, place)}, value, intent(in)"
        target = type_.type
        if may_be_null(declared.name, comment):
            return "type(c_ptr), value, intent(in)"
        if isinstance(target, c_ast.PtrDecl):
            constant = "const" in target.quals
            if constant and following != "count":
                raise Unsupported(f"{place}: a pointer to a constant pointer is an array, with a count behind it")
            return "type(c_ptr), dimension(*), intent(in)" if constant else "type(c_ptr), intent(out)"
        name = " ".join(target.type.names)
        constant = "const" in target.quals
        if name == "char" and constant:
            return "character(kind=c_char), dimension(*), intent(in)"
        if name in SCALARS and not constant:
            return f"{SCALARS[name]}, intent(out)"
        if name in self.structures:
            array = ", dimension(*)" if following == "count" else ""
            return f"type({name}){array}, intent({'in' if constant else 'inout'})"
        if name == "char" or name in SCALARS or name in self.functions_types:
            raise Unsupported(f"{place}: Fortran has no counterpart of '{declared.name}' unless it may be null")
        return "type(c_ptr), value, intent(in)"

    def interface(self, node: c_ast.Decl) -> Iterator[str]:
        comment = f"{self.about} {comment_above(self.lines, node.coord.line)}"
        declared = [] if node.type.args is None else list(node.type.args.params)
        if declared and isinstance(declared[-1], c_ast.EllipsisParam):
            raise Unsupported(f"{node.coord}: {node.name} takes any number of arguments")
        declared = [one for one in declared if not is_void(one)]
        names = [one.name for one in declared]
        result = node.type.type
        is_function = not (isinstance(result, c_ast.TypeDecl) and result.type.names == ["void"])
        kind, end = ("function", " bind(c) result(answer)") if is_function else ("subroutine", " bind(c)")
        yield from wrapped(f"{kind} {node.name}({', '.join(names)}){end}")
        yield "  import"
        groups: list[tuple[str, list[str]]] = []
        for one, following in zip(declared, [*names[1:], ""], strict=False):
            described = self.argument(one, following, comment)
            if groups and groups[-1][0] == described:
                groups[-1][1].append(one.name)
            else:
                groups.append((described, [one.name]))
        for described, together in groups:
            yield from wrapped(f"  {described} :: {', '.join(together)}")
        if is_function:
            yield f"  {self.by_value(result, str(node.coord))} :: answer"
        yield f"end {kind}"

    def text(self, header: str) -> str:
        """The whole module."""
        body = [
            f"! The interfaces of {header}, where each is described. {MARK}: change the header, then",
            "! `make format`. Use the module `dovetail`, which has them all.",
            f"module {self.name}",
            "  use, intrinsic :: iso_c_binding",
            "  implicit none",
            "  public",
        ]
        if self.constants:
            body += ["", *(f"  {line}" for line in self.constants)]
        for lines in self.types:
            body += ["", *(f"  {line}" for line in lines)]
        if self.interfaces:
            body += ["", "  interface"]
            for number, lines in enumerate(self.interfaces):
                body += [""] if number else []
                body += [f"    {line}" for line in lines]
            body += ["  end interface"]
        body += [f"end module {self.name}", ""]
        return "\n".join(body)


def is_void(node: c_ast.Node) -> bool:
    return (
        isinstance(node, c_ast.Typename) and isinstance(node.type, c_ast.TypeDecl) and node.type.type.names == ["void"]
    )


def wrapped(line: str) -> Iterator[str]:
    """The line, cut behind commas so that it fits."""
    room = WIDTH - 12
    while len(line) > room:
        cut = line.rindex(", ", 0, room) + 1
        yield line[:cut] + " &"
        line = "      " + line[cut:].lstrip()
    yield line


def generate(header: Path) -> str:
    return Module(module_of(header), header.read_text()).text(header.name)


def generated_files() -> dict[Path, str]:
    return {INCLUDE / f"{module_of(header)}.f90": generate(header) for header in headers()}


def outdated(wanted: dict[Path, str]) -> list[Path]:
    """Modules that are not what the headers say, and those whose header is gone."""
    written_before = [path for path in INCLUDE.glob("*.f90") if MARK in path.read_text() and path not in wanted]
    return [
        *(path for path, text in wanted.items() if not path.exists() or path.read_text() != text),
        *sorted(written_before),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit status 1 if a module is not up to date"
    )
    arguments = parser.parse_args()
    try:
        wanted = generated_files()
    except Unsupported as problem:
        print(f"error: {problem}")
        return 1
    paths = outdated(wanted)
    if paths and arguments.check:
        names = ", ".join(path.name for path in paths)
        print(f"error: not what the C headers say: {names}; `make format` writes them")
        return 1
    for path in paths:
        if path in wanted:
            path.write_text(wanted[path])
        else:
            path.unlink()
        print(f"{'wrote' if path in wanted else 'removed'} include/dovetail/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
