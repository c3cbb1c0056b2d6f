"""`pycompss.streams.distro_stream`: objects and files that tasks hand to each other while they run."""

from __future__ import annotations

import os
import threading
import uuid
from typing import Any

from .. import _core

__all__ = ["DistroStream", "FileDistroStream", "ObjectDistroStream"]


class _Content:
    """What all streams with one alias have in common. From any thread."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.items: list[Any] = []
        self.seen: set[str] = set()  # files
        self.producers = 0  # that have not closed it
        self.closed = False


_by_alias: dict[tuple[type, str], _Content] = {}


class DistroStream:
    """A stream. Each item is given to one `poll` only. Streams with the same alias are one. From any thread and task of this process."""

    def __init__(self, alias: str | None = None) -> None:
        self.alias = alias
        self.id = str(uuid.uuid4())
        self._content = _Content() if alias is None else _by_alias.setdefault((type(self), alias), _Content())
        with self._content.condition:
            if self._content.closed and self._content.producers == 0:
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

    def poll(self, timeout: float = 0) -> list[Any]:
        """All items that nobody has got yet. Waits at most `timeout` milliseconds for the first."""
        with self._content.condition:
            self._content.condition.wait_for(lambda: self._content.items or self._content.closed, timeout / 1000)
            items, self._content.items = self._content.items, []
        return items

    def begin(self) -> None:
        """A task has been made that will write to it."""
        with self._content.condition:
            self._content.producers += 1

    def close(self) -> None:
        """One producer will write no more."""
        with self._content.condition:
            self._content.producers = max(self._content.producers - 1, 0)
            self._content.closed = True
            self._content.condition.notify_all()

    def end(self) -> None:
        """A producer has failed: nobody is to wait for it."""
        with self._content.condition:
            self._content.producers = 0
            self._content.closed = True
            self._content.condition.notify_all()

    def is_closed(self) -> bool:
        """Whether all producers have closed it, or the task that asks has been asked to stop."""
        with self._content.condition:
            over = self._content.closed and self._content.producers == 0
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
        super().__init__(alias)
        self.base_dir = os.path.abspath(base_dir)

    def publish_list(self, messages: list[Any]) -> None:
        """Nothing: a file is published by writing it in the folder."""

    def poll(self, timeout: float = 0) -> list[Any]:
        """The files that no `poll` has given yet, by name. Does not wait."""
        with self._content.condition:
            new = sorted(entry.path for entry in os.scandir(self.base_dir) if entry.is_file())
            new = [path for path in new if path not in self._content.seen]
            self._content.seen.update(new)
        return new
