"""Files that another user may have put in place: only regular files are opened, without waiting, and no link is followed.

As src/base/plain_file.hpp has it for the settings. Without a limit of size, which a trace has none of.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TextIO

_GUARDED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _opened(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _GUARDED, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "it is a symbolic link", str(path)) from error
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "it is a pipe, not a regular file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def open_to_read(path: Path) -> TextIO:
    """Bytes that are no UTF-8 are replaced. Raises OSError, which says what is there if it is no regular file."""
    return open(_opened(path, os.O_RDONLY), encoding="utf-8", errors="replace")


def _opened_to_write(path: Path) -> int:
    descriptor = _opened(path, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(descriptor, 0)
    return descriptor


def open_to_write(path: Path) -> TextIO:
    """Makes the file, or empties it once it has been found to be one. Raises OSError."""
    return open(_opened_to_write(path), "w", encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """The same, with this content. Raises OSError."""
    with open(_opened_to_write(path), "wb") as file:
        file.write(content)
