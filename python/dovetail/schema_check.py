"""Whether a value is what a JSON schema allows, for the keywords that the schema of configurations has.

`jsonschema` says what is wrong in a value, and takes longer to import than many a program that `dovetail run` starts. So it is asked only about values that this finds wrong.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ANNOTATIONS = {"$schema", "$comment", "$defs", "default", "description", "title"}
_OF_ANOTHER = {"else", "then", "properties"}  # what `if`, and `additionalProperties`, look at


def is_allowed(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None) -> bool:
    """`root`: the schema whose part `schema` is. Raises KeyError for a keyword that is not known here."""
    whole = schema if root is None else root
    return all(
        _KEYWORDS[keyword](value, operand, schema, whole)
        for keyword, operand in schema.items()
        if keyword not in _ANNOTATIONS and keyword not in _OF_ANOTHER
    ) and all(
        is_allowed(value[name], inner, whole)
        for name, inner in schema.get("properties", {}).items()
        if isinstance(value, dict) and name in value
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}  # fmt: skip


def _type(value: Any, names: str | list[str], *_: Any) -> bool:
    return any(_TYPES[name](value) for name in ([names] if isinstance(names, str) else names))


def _if(value: Any, condition: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]) -> bool:
    return is_allowed(value, schema["then" if is_allowed(value, condition, root) else "else"], root)


# What is no number, text, list or object is allowed by what is about these.
_KEYWORDS: dict[str, Callable[..., bool]] = {
    "$ref": lambda value, name, _, root: is_allowed(value, root["$defs"][name.removeprefix("#/$defs/")], root),
    "additionalProperties": lambda value, _, schema, __: not isinstance(value, dict) or value.keys() <= schema["properties"].keys(),
    "anyOf": lambda value, some, _, root: any(is_allowed(value, one, root) for one in some),
    "exclusiveMaximum": lambda value, limit, *_: not _is_number(value) or value < limit,
    "if": _if,
    "items": lambda value, each, _, root: not isinstance(value, list) or all(is_allowed(one, each, root) for one in value),
    "maxItems": lambda value, most, *_: not isinstance(value, list) or len(value) <= most,
    "maxLength": lambda value, most, *_: not isinstance(value, str) or len(value) <= most,
    "maximum": lambda value, most, *_: not _is_number(value) or value <= most,
    "minItems": lambda value, least, *_: not isinstance(value, list) or len(value) >= least,
    "minimum": lambda value, least, *_: not _is_number(value) or value >= least,
    "multipleOf": lambda value, unit, *_: not _is_number(value) or value % unit == 0,
    "pattern": lambda value, pattern, *_: not isinstance(value, str) or re.search(pattern, value) is not None,
    "required": lambda value, names, *_: not isinstance(value, dict) or all(name in value for name in names),
    "type": _type,
}  # fmt: skip
