"""The reference of C++, C and Fortran as pages in Markdown: one for each public header, whose text Breathe takes from what Doxygen has found.

`scripts/docs.py` calls it. A header in C whose interfaces are translated for Fortran has these on its page, too.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

# What of a header is shown, in this order.
SECTIONS = (
    "briefdescription detaileddescription innerclass innernamespace user-defined define enum typedef func var "
    "public-func public-static-func public-attrib public-static-attrib related"
)
PRIVATE_CLASS = re.compile(r'<innerclass [^>]*prot="private">.*?</innerclass>')
C_IN_OTHER_MODULE = {"dovetail/dovetail.h": "dovetail_tasks.f90"}


def hide_private_classes(xml: Path) -> None:
    """Breathe would show them on the pages of the classes that they belong to."""
    for file in xml.glob("*.xml"):
        text = file.read_text()
        if PRIVATE_CLASS.search(text):
            file.write_text(PRIVATE_CLASS.sub("", text))


def briefs(xml: Path) -> dict[str, str]:
    """The first sentence about each header, by the path that a program includes."""
    found = {}
    for file in sorted(xml.glob("*_8h*.xml")):
        compound = ElementTree.parse(file).getroot()[0]
        place = compound.find("location")
        words = compound.find("briefdescription")
        if compound.get("kind") == "file" and place is not None and words is not None:
            header = re.sub(r"^.*\binclude/", "", place.get("file", ""))
            found[header] = " ".join("".join(words.itertext()).split())
    return found


def stem(header: str) -> str:
    return Path(header).name.replace(".", "_")


def fortran(include: Path, header: str) -> Path | None:
    module = include / "dovetail" / C_IN_OTHER_MODULE.get(header, f"{Path(header).stem}.f90")
    return module if header.endswith(".h") and module.is_file() else None


def page(include: Path, header: str) -> str:
    text = f"# {Path(header).name}\n\n`#include <{header}>`\n\n```{{doxygenfile}} {Path(header).name}\n:sections: {SECTIONS}\n```\n"
    module = fortran(include, header)
    if module is not None:
        code = re.sub(r"^(!.*\n)+", "", module.read_text())
        text += (
            f"\n## In Fortran\n\nThe same names, by `use dovetail`. What each does stands above; the module `{module.stem}` declares them:\n\n"
            f"```fortran\n{code}```\n"
        )
    return text


def table(headers: dict[str, str], folder: str) -> str:
    rows = [f"| [{header}]({folder}/{stem(header)}.md) | {words} |" for header, words in headers.items()]
    return "\n".join(["| header | what is in it |", "|---|---|", *rows])


def contents(headers: dict[str, str], folder: str) -> str:
    paths = "\n".join(f"{folder}/{stem(header)}" for header in headers)
    return f"```{{toctree}}\n:hidden:\n\n{paths}\n```\n"


def make(xml: Path, include: Path) -> dict[str, str]:
    """The pages by path, from Doxygen's folder `xml` and the folder of the headers."""
    hide_private_classes(xml)
    every = briefs(xml)
    cpp = {header: words for header, words in every.items() if header.endswith(".hpp")}
    c = {header: words for header, words in every.items() if header.endswith(".h")}
    pages = {
        "cpp.md": "# C++\n\nA program includes `dovetail/dovetail.hpp`, which has all of these save those of MPI and of one-sided "
        f"communication. Everything is in the namespace `dovetail`.\n\n{table(cpp, 'cpp')}\n\n{contents(cpp, 'cpp')}",
        "c.md": "# C, Fortran and OpenMP\n\nA program in C includes `dovetail/dovetail.h`, one in Fortran says `use dovetail`; one of "
        f"OpenMP tasks includes `dovetail_omp.h`.\n\n{table(c, 'c')}\n\n{contents(c, 'c')}",
    }
    for headers, folder in ((cpp, "cpp"), (c, "c")):
        pages |= {f"{folder}/{stem(header)}.md": page(include, header) for header in headers}
    return pages
