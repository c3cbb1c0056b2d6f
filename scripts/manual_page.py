"""Writes the page of the manual of a program, out of what it says to --help and --version.

Exit status: 1 if the program says neither.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path


def said(program: Path, option: str) -> str:
    """Raises CalledProcessError if the program does not know the option."""
    return subprocess.run([program, option], capture_output=True, text=True, check=True).stdout


def escaped(line: str) -> str:
    """A line of text, of which troff takes nothing for a request of its own."""
    text = line.rstrip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def compose(name: str, version: str, help_text: str) -> str:
    """The page. What stands before the usage is what the program does; what follows is shown as it is."""
    about, _, rest = help_text.partition("Usage: ")
    usage, _, options = rest.partition("\n")
    if not about.strip() or not options.strip():
        raise ValueError(f"{name} --help has no sentence, no usage or no options")
    sentences = " ".join(about.split())
    first = re.split(r"(?<=[.:;]) ", sentences)[0].rstrip(".:;")
    parts = [
        f'.TH {name.upper()} 1 "" "Dovetail {version}"',
        *(".SH NAME", escaped(f"{name}") + " \\- " + escaped(first)),
        *(".SH SYNOPSIS", escaped(usage)),
        *(".SH DESCRIPTION", escaped(sentences)),
        *(".SH OPTIONS", ".nf", *(escaped(line) for line in options.strip("\n").splitlines()), ".fi"),
        *(".SH SEE ALSO", "docs/index.md of Dovetail, and docs/environment.md for the variables of the environment"),
    ]
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    try:
        page = compose(
            arguments.program.name, said(arguments.program, "--version").strip(), said(arguments.program, "--help")
        )
    except (subprocess.CalledProcessError, ValueError) as error:
        print(f"manual_page: {error}", file=sys.stderr)
        return 1
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
