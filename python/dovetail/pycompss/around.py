"""`pycompss.api.prolog` and `pycompss.api.epilog`: programs that run before and after the body of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .command import Line
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["Epilog", "Prolog", "epilog", "prolog"]


def _line(decorator: str, given: dict[str, Any], fails: bool) -> Line:
    """`fails`: whether an exit value that is not 0 is a failure, where `fail_by_exit_value` does not say so."""
    options = taken(decorator, given, ("binary",), ("args", "params", "working_dir", "fail_by_exit_value"))
    return Line(decorator, {"args": "", "fail_by_exit_value": fails, **options}, redirects=False)


def prolog(**given: Any) -> Callable[[Any], PyCompssTask]:
    """A program to run before the task: `@prolog(binary="echo", args="{{name}}")`. Its failure is the task's."""
    line = _line("@prolog", given, fails=True)

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "prolog")
        task.change("prolog", before=(line, *task.before))
        return task

    return decorate


def epilog(**given: Any) -> Callable[[Any], PyCompssTask]:
    """A program to run when the task has succeeded: `@epilog(binary="echo", args="{{name}}")`.

    As under PyCOMPSs, its exit value decides nothing unless `fail_by_exit_value` is true.
    """
    line = _line("@epilog", given, fails=False)

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "epilog")
        task.change("epilog", after=(*task.after, line))
        return task

    return decorate


Prolog = prolog
Epilog = epilog
