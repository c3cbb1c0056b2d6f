"""How many values a function returns whose @task does not say so."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any


def _own_returns(node: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own_returns(child)


def _hinted(hint: Any) -> int:
    """As PyCOMPSs counts: `-> (int, int)` is two values, `-> tuple[int, int]` is one."""
    if isinstance(hint, str):
        try:
            node = ast.parse(hint, mode="eval").body
        except SyntaxError:
            return 1
        return len(node.elts) if isinstance(node, ast.Tuple | ast.List) and node.elts else 1
    return len(hint) if isinstance(hint, tuple | list) and hint else 1


def inferred_count(function: Callable[..., Any]) -> int:
    """From the annotation, else from the return statements; 0 if it returns nothing."""
    hint = inspect.get_annotations(function).get("return", inspect.Parameter.empty)
    if hint is not inspect.Parameter.empty:
        return 0 if hint in (None, "None") else _hinted(hint)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return 0
    values = [statement.value for statement in _own_returns(tree.body[0]) if statement.value is not None]
    values = [value for value in values if not (isinstance(value, ast.Constant) and value.value is None)]
    return max((len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in values), default=0)
