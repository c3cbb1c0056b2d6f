"""Each task has the random numbers of a process of its own: `random.seed` or `numpy.random.seed` in one changes no other's.

The shared functions of `random` and `numpy.random` are replaced. In a task, a replacement uses a generator of that task; elsewhere it uses the
generator that the whole process shares, as before.
"""

from __future__ import annotations

import random
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..imported import imported

_local = threading.local()


@contextmanager
def of_a_task() -> Iterator[None]:
    """In the block, the caller's generators are new ones."""
    before = getattr(_local, "made", None)
    _local.made = {}
    try:
        yield
    finally:
        _local.made = before


def _current(shared: Any, make: Callable[[], Any]) -> Any:
    made = getattr(_local, "made", None)
    if made is None:
        return shared
    found = made.get(id(shared))
    if found is None:
        found = made[id(shared)] = make()
    return found


def _stand_in(module: types.ModuleType, shared: Any, make: Callable[[], Any]) -> None:
    """The module's functions that are methods of the shared generator become those of the caller's."""

    def by_caller(name: str, original: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(_current(shared, make), name)(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = original.__doc__
        return call

    for name, value in list(vars(module).items()):
        if getattr(value, "__self__", None) is shared:
            setattr(module, name, by_caller(value.__name__, value))


def is_generator(value: Any) -> bool:
    """Whether it is a generator of random numbers. Tasks that shared one would draw from it in an unknown order."""
    numpy_random = imported("numpy.random")
    if numpy_random is None:
        return isinstance(value, random.Random)
    kinds = random.Random, numpy_random.RandomState, numpy_random.Generator
    return isinstance(value, kinds) and value is not numpy_random.mtrand._rand  # of which each task has its own anyway


def cover_numpy(module: types.ModuleType) -> None:
    """`module` is numpy.random, imported."""
    mtrand: Any = module.mtrand
    shared, kind = mtrand._rand, mtrand.RandomState

    # Libraries such as scikit-learn use the shared generator object itself. They get this one, which uses the caller's generator.
    class OfTheCaller(kind):  # type: ignore[misc,valid-type]
        def __getattribute__(self, name: str) -> Any:
            return getattr(_current(shared, kind), name)

    _stand_in(module, shared, kind)
    _stand_in(mtrand, shared, kind)
    mtrand._rand = OfTheCaller()


def cover() -> None:
    """The generator of the standard library."""
    _stand_in(random, random._inst, random.Random)
