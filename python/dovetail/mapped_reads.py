"""What a program touches of the files that it has mapped, as notes for its plan."""

from __future__ import annotations

import time

from . import observation
from .mapped_pages import MappedPages

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    import threading

_MOST_NOTES = 1_000_000


class MappedReads:
    """Looks while the program runs. What it touches between two looks has the order of the file."""

    def __init__(self) -> None:
        self._pages = MappedPages()
        self._notes: list[observation.Noted] = []

    def notes(self) -> list[observation.Noted]:
        """As the library's; how long the program has waited is not known."""
        touched = {(note.device, note.inode) for note in self._notes}
        about = []
        for identity, file in self._pages.files.items():
            if identity in touched:
                status = file.status
                for kind, parts in (
                    (observation.FILE, {(status.st_mtime_ns, status.st_size)}),
                    (observation.MAP, file.parts),
                ):
                    for offset, count in sorted(parts):
                        about.append(observation.Noted(kind, 0, 0, *identity, offset, count, 0, 0, file.path))
        return [*about, *self._notes]

    def follow(self, over: threading.Event) -> None:
        """Watches the processes that this one has started until it is over."""
        try:
            while not over.wait(self._pages.pause) and len(self._notes) < _MOST_NOTES:
                found = self._pages.look()
                now = time.monotonic_ns()
                for one in found:
                    status = one.file.status
                    self._notes.append(
                        observation.Noted(
                            observation.READ, now, now, status.st_dev, status.st_ino, one.offset, one.end - one.offset, None, one.process
                        )
                    )  # fmt: skip
        finally:
            self._pages.close()
