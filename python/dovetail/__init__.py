"""Dovetail: tasks in which computation and storage I/O overlap.

    import dovetail as dt

    @dt.task
    def square(x):
        return x * x

    print(dt.wait([square(i) for i in range(10)]))

The runtime in C++ does the scheduling, dependencies, failure policies and I/O. This package is its face in Python.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from .interface import *  # noqa: F403
    from .interface import __all__ as __all__

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """A module of the package; or a public name, the first of which imports all of them. So commands start without the runtime, which most of them do not
    need. But for those that are public themselves, no module has the name of something public, whose place it would take."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{name}"
    try:
        __import__(module)
        return globals()[name]
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    from . import interface

    globals().update({each: getattr(interface, each) for each in interface.__all__}, __all__=interface.__all__)
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
