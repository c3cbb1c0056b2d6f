"""Where each value of a JSON text stands, which `json` does not tell: a message about a value can name its line."""

from __future__ import annotations

import json
import re

Place = tuple[str | int, ...]  # keys and indices, from the outermost value inwards

# Of a text that `json` has accepted: strings, marks, numbers and words. White space lies between them.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[-+.\w]+')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
_LONGEST = 60  # characters of a value, or of a key, in a message


class Spot:
    """`line`: from 1; of the key, if the value has one. `text`: the value as it is written, empty for objects and lists."""

    __slots__ = ("line", "text")

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self.text = text


class Problem(Exception):
    """What is wrong with the value at a place. `line`: where it is, if it is known already."""

    def __init__(self, place: Place, sentence: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.place = place
        self.sentence = sentence
        self.line = line


def quoted(text: str) -> str:
    """A text for a message: in quotes, in ASCII, and not long."""
    return json.dumps(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def named(place: Place) -> str:
    """A place for a message, such as `File[0].Path`; empty for the whole."""
    name = ""
    for step in place:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += ("." if name else "") + (step if _PLAIN.fullmatch(step) else quoted(step))
    return name


def spots(text: str, most: int, deepest: int) -> dict[Place, Spot]:
    """Every value of a text that `json.loads` has accepted, in the order of the text. Raises Problem for what `json.loads` accepts but JSON does
    not have, and for a key that one object has twice. Raises it also for more than `most` values, and for more than `deepest` objects and lists in
    each other."""
    found: dict[Place, Spot] = {}
    path: list[str | int] = []  # its last step: the key or the index in the innermost object or list
    around: list[str] = []  # the brackets that are open
    key_follows = False
    line = 1
    last = 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", last, token.start())
        last = token.start()
        word = token[0]
        if word in ("}", "]"):
            around.pop()
            path.pop()
            key_follows = False
        elif word == ",":
            step = path[-1]
            key_follows = not isinstance(step, int)
            if isinstance(step, int):
                path[-1] = step + 1
        elif key_follows:
            key_follows = False
            path[-1] = json.loads(word)
            place = tuple(path)
            if place in found:
                raise Problem(place, f"it is there twice, first in line {found[place].line}", line)
            found[place] = Spot(line, "")
        elif word != ":":
            place = tuple(path)
            opens = word in ("{", "[")
            if word in ("NaN", "Infinity", "-Infinity"):
                raise Problem(place, f"{word} is not a number that JSON has", line)
            found[place] = Spot(found[place].line if place in found else line, "" if opens else word)
            if len(found) > most:
                raise Problem((), f"there are more than {most} values, which is too much for a configuration", line)
            if opens:
                around.append(word)
                path.append("" if word == "{" else 0)
                key_follows = word == "{"
                if len(around) > deepest:
                    raise Problem((), "this is nested too deeply for a configuration", line)
    return found
