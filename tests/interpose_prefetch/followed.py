"""What the tests of `--system` share: programs that no library sees, and what the page cache has of their file."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from support import BUILD, PAGE, Case, hangs, observation, system_observer

STATIC = BUILD / "bin" / "prefetch_static"
UNSEEN = BUILD / "bin" / "prefetch_unseen"
STEP = 1 << 20


def unavailable() -> str:
    """Why no program can be followed here; empty if one can."""
    try:
        with observation.shared_log() as (memory, _), system_observer.started(memory):
            return ""
    except system_observer.Unavailable as error:
        return str(error)


class System(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 8 * STEP)

    def seen(self, *words: object, path: Path | None = None, **options) -> set[int]:
        """The pages of the file in the plan."""
        status, output, errors = self.observe(*words, system=True, **options)
        if status == 77:
            self.skipTest("this system has no io_uring")
        self.assertEqual((status, output, errors), (0, b"", b""))
        runs = self.extents_of(path or self.path)
        return {page for offset, count in runs for page in range(offset // PAGE, -(-(offset + count) // PAGE))}

    def cached(self, offset: int) -> bool:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        with self.path.open("rb") as file:
            memory = libc.mmap(None, PAGE, 1, 1, file.fileno(), offset)
        state = (ctypes.c_ubyte * 1)()
        self.assertEqual(libc.mincore(ctypes.c_void_p(memory), ctypes.c_size_t(PAGE), state), 0)
        libc.munmap(ctypes.c_void_p(memory), ctypes.c_size_t(PAGE))
        return bool(state[0] & 1)

    def observer_of(self, process: subprocess.Popen) -> int:
        found = [one for one in hangs.descendants(process.pid)
                 if Path(f"/proc/{one}/comm").read_text().startswith("dovetail-observ"[:15])]  # fmt: skip
        self.assertEqual(len(found), 1)
        return found[0]
