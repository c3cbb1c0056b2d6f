"""`pycompss.streams.distro_stream`: objects and files that tasks hand to each other while they run."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core

__all__ = ["DistroStream", "FileDistroStream", "ObjectDistroStream"]


class _Content:
    """What all streams with one alias have in common. From any thread."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.items: list[Any] = []
        self.seen: set[str] = set()  # files
        self.producers: list[Producer] = []  # that have not closed it
        self.closed = False

    @property
    def over(self) -> bool:
        """Whether no producer is left. Under the condition."""
        return self.closed and not self.producers


class Producer:
    """A task that writes to a stream, until it closes the stream or ends: it succeeds, fails or is cancelled."""

    def __init__(self, content: _Content) -> None:
        self.content = content
        with content.condition:
            content.producers.append(self)

    def end(self, _: object = None) -> None:
        """Writes no more. May be called again. Also a callback of the task's future."""
        content = self.content
        with content.condition:
            if self in content.producers:
                content.producers.remove(self)
                content.closed = True
                content.condition.notify_all()


_of_this_thread = threading.local()


@contextmanager
def body_of(producers: tuple[Producer, ...]) -> Iterator[None]:
    """In the block, the caller is the body of the task that these stand for."""
    before = getattr(_of_this_thread, "producers", ())
    _of_this_thread.producers = producers
    try:
        yield
    finally:
        _of_this_thread.producers = before


_by_alias: dict[tuple[type, str], _Content] = {}


class DistroStream:
    """A stream. Each item is given to one `poll` only. Streams with the same alias are one. From any thread and task of this process."""

    def __init__(self, alias: str | None = None) -> None:
        self.alias = alias
        self.id = str(uuid.uuid4())
        self._content = _Content() if alias is None else _by_alias.setdefault((type(self), alias), _Content())
        with self._content.condition:
            if self._content.over and not self._left():
                self._content.closed = False  # it is used anew

    def get_stream_id(self) -> str:
        """A name of its own."""
        return self.id

    def get_stream_alias(self) -> str | None:
        """The name that the program gave."""
        return self.alias

    def publish(self, message: Any) -> None:
        """Adds an item."""
        self.publish_list([message])

    def publish_list(self, messages: list[Any]) -> None:
        """Adds items."""
        with self._content.condition:
            self._content.items += messages
            self._content.condition.notify_all()

    def _left(self) -> list[Any]:
        """What no `poll` has given yet. Under the condition."""
        return self._content.items

    def poll(self, timeout: float = 200) -> list[Any]:
        """All items that no consumer has got yet. Waits at most `timeout` milliseconds for the first, unless all producers have closed the stream."""
        content = self._content
        with content.condition:
            content.condition.wait_for(lambda: content.items or content.over, timeout / 1000)
            items, content.items = content.items, []
        return items

    def begin(self) -> Producer:
        """A task is made that will write to it."""
        return Producer(self._content)

    def close(self) -> None:
        """The task that calls it will write no more; outside of the tasks that write to it, one of these."""
        content = self._content
        mine = [one for one in getattr(_of_this_thread, "producers", ()) if one.content is content]
        with content.condition:
            for producer in mine or content.producers[:1]:
                producer.end()
            content.closed = True
            content.condition.notify_all()

    def is_closed(self) -> bool:
        """Whether all producers have closed it and `poll` has given everything, or the task that asks has been asked to stop."""
        with self._content.condition:
            over = self._content.over and not self._left()
        return over or (_core.in_task() and _core.cancelled())


class ObjectDistroStream(DistroStream):
    """A stream of objects, which are not copied."""

    def __init__(self, alias: str | None = None, access_mode: Any = None) -> None:
        super().__init__(alias)


class FileDistroStream(DistroStream):
    """A stream of the files that appear in a folder, as paths. Files that were there before belong to it, too."""

    def __init__(self, alias: str | None = None, base_dir: str | None = None, access_mode: Any = None) -> None:
        if base_dir is None:
            raise TypeError("FileDistroStream must be given base_dir, the folder in which its files appear")
        self.base_dir = os.path.abspath(base_dir)
        super().__init__(alias)

    def publish_list(self, messages: list[Any]) -> None:
        """Nothing: a file is published by writing it in the folder."""

    def _left(self) -> list[Any]:
        paths = sorted(entry.path for entry in os.scandir(self.base_dir) if entry.is_file())
        return [path for path in paths if path not in self._content.seen]

    def poll(self, timeout: float = 0) -> list[Any]:
        """The files that no `poll` has given yet, by name. Does not wait."""
        with self._content.condition:
            new = self._left()
            self._content.seen.update(new)
        return new
