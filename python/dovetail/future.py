"""`Future`: the result of a task that may not have run yet."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ._core import Future


def _await(self: Future[Any]) -> Generator[Any, None, Any]:
    """`await future`: the event loop goes on meanwhile."""
    from .asynchronous import completion

    yield from completion(self).__await__()
    return self.result()


def _class_getitem(cls: type, item: object) -> object:
    import types

    return types.GenericAlias(cls, item)


# The type comes from the extension, which knows neither event loops nor type parameters.
setattr(Future, "__await__", _await)  # noqa: B010
setattr(Future, "__class_getitem__", classmethod(_class_getitem))  # noqa: B010

__all__ = ["Future"]
