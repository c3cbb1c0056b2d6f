"""Patterns of paths, as `src/prefetch` matches them with the paths of files.

`*` and `?` stand for characters of one name, `[abc]`, `[a-z]` and `[!abc]` for one of them; `**` for any characters, `/` included.
"""

from __future__ import annotations

import os
import re

_WILD = re.compile(r"[*?[]")
_MOST_BYTES = 4096


class BadPattern(Exception):
    """A pattern that cannot match, or not what it seems to say. The message says why."""


def check(pattern: str) -> None:
    """Raises BadPattern for classes that are none."""
    at = 0
    while (begin := pattern.find("[", at)) >= 0:
        # A `[` may stand in a class, and is how one is written that means itself.
        end = pattern.find("]", begin + 1)
        if end < 0:
            raise BadPattern("a [ has no ] behind it in the same name; [[] stands for the character itself")
        inner = pattern[begin + 1 : end].removeprefix("!")
        shown = pattern[begin : end + 1].encode("ascii", "backslashreplace").decode()
        if not inner:
            raise BadPattern(f"{shown} has no characters")
        if inner.startswith("^"):
            raise BadPattern(f"{shown} begins with ^; what is not to match is written [!...]")
        if not inner.isascii():
            raise BadPattern(f"{shown} has characters beyond ASCII, which no class can have")
        if re.search(r"\[[:.=]", inner):
            raise BadPattern(f"{shown} is no class; the characters must be written out")
        for low, high in re.findall(r"(.)-(.)", inner, re.DOTALL):
            if low > high:
                raise BadPattern(f"{shown} has the range {low}-{high}, which is empty")
        at = end + 1


def escaped(path: str) -> str:
    """The pattern that matches this path alone."""
    return _WILD.sub(r"[\g<0>]", path)


def _encoded(pattern: str) -> bytes:
    try:
        found = os.fsencode(pattern)
    except UnicodeEncodeError as error:
        raise BadPattern("it has a character that no name can have") from error
    if len(found) > _MOST_BYTES:
        raise BadPattern(f"it is longer than {_MOST_BYTES} bytes")
    return found


def _resolved(path: str) -> str:
    """Links are followed as far as there are no wildcards, since the kernel tells paths without links."""
    wild = _WILD.search(path)
    cut = path.rfind("/", 0, wild.start()) + 1 if wild else len(path)
    literal, rest = path[:cut], path[cut:].split("/")
    if literal.startswith("~"):
        home = os.path.expanduser("~")
        if not home.startswith("/"):
            raise BadPattern("~ is not known; the variable HOME must be an absolute path")
        literal = home + literal[1:]
    steps = [step for step in rest if step not in ("", ".")]
    if ".." in steps:
        raise BadPattern(".. behind a wildcard never matches")
    for step in steps:
        check(step)
    return "/".join([escaped(os.path.realpath(literal)).rstrip("/"), *steps]) or "/"


def of_file(path: str) -> bytes:
    """`path`: absolute, or beginning with `~/`. Raises BadPattern."""
    _encoded(path)
    if path.endswith("/") or (not _WILD.search(path) and os.path.isdir(os.path.expanduser(path))):
        raise BadPattern("it is a folder, which belongs under Directory")
    return _encoded(_resolved(path))


def of_folder(path: str, recursive: bool) -> bytes:
    """All files below the folder, or only those directly in it. Raises BadPattern."""
    _encoded(path)
    if not _WILD.search(path) and os.path.isfile(os.path.expanduser(path)):
        raise BadPattern("it is not a folder, and belongs under File")
    return _encoded(_resolved(path).rstrip("/") + ("/**" if recursive else "/*"))


def of_program(name: str) -> bytes:
    """Raises BadPattern."""
    check(name)
    return _encoded(name)
