"""What can be said about the headers in C without running them: C11, documented, there, and as Fortran has them."""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["DOVETAIL_BUILD_DIR"])
INCLUDE = SOURCE / "include/dovetail"
# Needs an mpi.h, so that it stands alone, and its module was written by hand. The tests of interpose_mpi compile and run both.
OF_MPI = INCLUDE / "dovetail_mpi.h"
# By concept. The first includes the others.
HEADERS = [INCLUDE / "dovetail.h", *sorted(set(INCLUDE.glob("dovetail_*.h")) - {OF_MPI})]
FORTRAN = sorted(set(INCLUDE.glob("*.f90")) - {OF_MPI.with_suffix(".f90")})
# size is an intrinsic function of Fortran.
FORTRAN_NAMES = {"size_of_this": "size"}


def without_comments(text: str) -> str:
    return re.sub(r"//.*", "", text)


def functions(text: str) -> dict[str, int]:
    """Names of the functions that are declared, and how many arguments each has."""
    found = re.findall(r"^\w[\w ]*\**\s+\**(dovetail_\w+)\(([^;]*?)\);", without_comments(text), re.M | re.S)
    return {name: 0 if arguments == "void" else arguments.count(",") + 1 for name, arguments in found}


def constants(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"\b(DOVETAIL_[A-Z_]+) = (\d+)", without_comments(text))}


def structures(text: str) -> dict[str, list[str]]:
    found = {}
    for fields, name in re.findall(r"^typedef struct \w+ \{(.*?)^\} (\w+);", without_comments(text), re.M | re.S):
        found[name] = re.findall(r"(?:\(\*)?(\w+)(?:\)\([^)]*\))?;", fields)
    return found


def check_compiles() -> list[str]:
    """As C11 without extensions and as C++, each alone, with every compiler that is here."""
    problems = []
    languages = {"c": ["-std=c11"], "c++": ["-std=c++20"]}
    compilers = [name for name in ("gcc", "clang", "clang-19") if shutil.which(name)]
    if not compilers:
        problems.append("there is no C compiler to try the header with")
    with tempfile.TemporaryDirectory() as folder:
        for compiler, (language, flags), header in itertools.product(compilers, languages.items(), HEADERS):
            strict = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only", "-x", language]
            source = pathlib.Path(folder) / "header"
            # Twice, so that a missing guard shows too.
            source.write_text(f"#include <dovetail/{header.name}>\n" * 2)
            command = [compiler, *flags, *strict, f"-I{SOURCE / 'include'}", str(source)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                problems.append(f"{' '.join(command)}:\n{result.stderr}")
    return problems


def check_interoperable(text: str) -> list[str]:
    """Nothing that Fortran has no counterpart for."""
    code = without_comments(text)
    forbidden = {
        "...": "variadic",
        " union ": "union",
        "_Bool": "bool",
        " bool ": "bool",
        " long ": "long",
        " char ": "",
    }
    problems = [
        f"'{word.strip()}' is not for Fortran"
        for word in forbidden
        if word in code.replace("char*", "char *_") and forbidden[word]
    ]
    problems += [f"bit field in {line.strip()}" for line in code.splitlines() if re.search(r"\w\s*:\s*\d+;", line)]
    problems += [
        f"macro {name} that programs might need"
        for name in re.findall(r"#define (\w+)", code)
        if not re.fullmatch(r"DOVETAIL_[A-Z_]+_H", name)
    ]
    return problems


def check_documented(header: str, text: str) -> list[str]:
    """Every function says where it may be called, whether it may suspend, and its errors; all else is described."""
    problems = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        above = number - 1
        comment = []
        while above >= 0 and lines[above].startswith("///"):
            comment.insert(0, lines[above][3:].strip())
            above -= 1
        said = " ".join(comment)
        place = f"{header}:{number + 1}"
        if re.match(r"\w[\w ]*\**\s+\**dovetail_\w+\(", line):
            problems += [
                f"{place}: '{line}' does not say '{word}'"
                for word in ("Context:", "Suspends:", "Errors:")
                if word not in said
            ]
            named = re.findall(r"Context: (\w+)", said)
            if not named or named[0] not in {"any", "wait", "task", "outside", "the"}:
                problems.append(f"{place}: '{line}' has no context that the top of the file explains")
        elif re.match(r"(typedef|enum)\b", line) and not said and "///<" not in line:
            problems.append(f"{place}: '{line}' is not described")
        elif re.match(r"  \w.*(;|,|= \d+)\s*$", line) and "(" not in line:
            problems.append(f"{place}: '{line.strip()}' is not described")
    return problems


def check_exported(text: str) -> list[str]:
    """The library has every function that is declared, and no other of these names."""
    libraries = sorted((BUILD / "lib").glob("libdovetail.so"))
    if not libraries:
        return [f"no library in {BUILD / 'lib'}"]
    symbols = subprocess.run(["nm", "-D", "--defined-only", libraries[0]], capture_output=True, text=True, check=True)
    exported = set(re.findall(r" T (dovetail_\w+)$", symbols.stdout, re.M))
    declared = set(functions(text)) | set(functions((INCLUDE / "detail/mpi_functions.h").read_text()))
    return [f"{name} is declared and not in the library" for name in sorted(declared - exported)] + [
        f"{name} is in the library and not declared" for name in sorted(exported - declared)
    ]


def check_version(text: str) -> list[str]:
    project = re.search(r"project\(dovetail VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())
    known = constants(text)
    version = ".".join(str(known[f"DOVETAIL_VERSION_{part}"]) for part in ("MAJOR", "MINOR", "PATCH"))
    return [] if project and project[1] == version else [f"dovetail.h says version {version}, CMakeLists.txt another"]


def check_fortran(text: str) -> list[str]:
    """The modules of Fortran have the same functions, arguments, constants and fields."""
    fortran = re.sub(r"!.*", "", "\n".join(path.read_text() for path in FORTRAN)).replace("&\n", " ")
    fortran = re.sub(r"&\s*\n", " ", fortran)
    found = re.findall(r"^\s*(?:function|subroutine) (dovetail_\w+)\((.*?)\) bind\(c\)", fortran, re.M)
    interfaces = {name: arguments.count(",") + 1 if arguments.strip() else 0 for name, arguments in found}
    values = {name: int(value) for name, value in re.findall(r"parameter :: (DOVETAIL_\w+) = (\d+)", fortran)}
    types = {}
    for name, fields in re.findall(r"type, bind\(c\) :: (\w+)\n(.*?)end type", fortran, re.S):
        types[name] = [FORTRAN_NAMES.get(field, field) for field in re.findall(r":: (\w+)", fields)]
    problems = []
    for what, left, right in (
        ("function", functions(text), interfaces),
        ("constant", constants(text), {n: v for n, v in values.items() if not n.startswith("DOVETAIL_O_")}),
        ("structure", structures(text), types),
    ):
        for name in sorted(left.keys() | right.keys()):
            if left.get(name) != right.get(name):
                problems.append(f"{what} {name}: {left.get(name)} in C, {right.get(name)} in Fortran")
    for name, value in values.items():
        if name.startswith("DOVETAIL_O_") and getattr(os, name.removeprefix("DOVETAIL_")) != value:
            problems.append(f"constant {name} is {value}, which open(2) does not know by that name")
    return problems


def check_together() -> list[str]:
    """One include gives a program all of it."""
    included = re.findall(r'#include "dovetail/(\w+\.h)"', HEADERS[0].read_text())
    wanted = sorted(path.name for path in HEADERS[1:])
    return [] if sorted(included) == wanted else [f"dovetail.h includes {included}, and should include {wanted}"]


def main() -> int:
    text = "\n".join(path.read_text() for path in HEADERS)
    if len(functions(text)) < 80 or len(constants(text)) < 20 or len(structures(text)) < 6:
        print("the headers are not understood by this test")
        return 1
    problems = check_compiles() + check_together() + check_version(text) + check_fortran(text) + check_exported(text)
    for path in HEADERS:
        problems += check_interoperable(path.read_text()) + check_documented(path.name, path.read_text())
    print("\n".join(problems) or f"{len(functions(text))} functions are documented, exported and known to Fortran")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
