"""How much memory is to be had, and that what is read ahead follows it while a program runs."""

import os
import shutil
import tempfile
import threading
import unittest
from pathlib import Path

from support import detect, free_memory, memory_watch, preload

MEBIBYTE = 1 << 20


class Free(unittest.TestCase):
    """In folders as the kernel has them for groups of processes."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="memory-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def group(self, version: int, limit: object, used: int, *lines: str) -> Path:
        names = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes"), 2: ("memory.max", "memory.current")}[version]
        for name, text in zip((*names, "memory.stat"), (f"{limit}\n", f"{used}\n", "\n".join(lines)), strict=True):
            (self.folder / name).write_text(text)
        return self.folder

    def test_page_cache_of_the_group_can_be_had_again(self):
        one = self.group(1, 100, 90, "active_file 1", "total_active_file 20", "total_inactive_file 30", "total_rss 40")
        self.assertEqual(free_memory.free_in_group(1, one), 60)
        two = self.group(2, 100, 90, "anon 40", "active_file 25", "inactive_file 30")
        self.assertEqual(free_memory.free_in_group(2, two), 65)

    def test_a_group_without_a_limit_says_nothing(self):
        self.assertIsNone(free_memory.free_in_group(1, self.group(1, 9223372036854771712, 90)))
        self.assertIsNone(free_memory.free_in_group(2, self.group(2, "max", 90)))
        self.assertIsNone(free_memory.free_in_group(2, self.folder / "gone"))

    def test_a_group_above_its_limit_has_nothing(self):
        self.assertEqual(free_memory.free_in_group(2, self.group(2, 100, 130, "active_file 10")), 0)

    def test_without_counts_all_that_is_used_is_taken(self):
        self.assertEqual(free_memory.free_in_group(2, self.group(2, 100, 70, "no counts at all")), 30)

    def test_all_groups_up_to_the_root_count(self):
        root = str(self.folder)
        found = list(free_memory.groups("5:cpu:/x\n4:memory:/a/b\n0::/c\n", root))
        self.assertEqual(
            found,
            [(1, root + "/memory/a/b"), (1, root + "/memory/a"), (1, root + "/memory"), (2, root + "/c"), (2, root)],
        )

    def test_this_machine_has_some(self):
        self.assertGreater(free_memory.free_memory(), 0)


class Watch(unittest.TestCase):
    def test_each_change_is_told_once_until_the_program_has_ended(self):
        windows = iter([64, 64, 8, 8, OSError("gone"), 64])
        told = []
        all_told = threading.Event()

        def window() -> int:
            found = next(windows, None)
            if found is None:
                all_told.set()
                return 64
            if isinstance(found, OSError):
                raise found
            return found

        with memory_watch.watched(window, [told.append], seconds=0):
            all_told.wait()
        self.assertEqual(told, [64, 8, 64])
        self.assertNotIn("beside", [thread.name for thread in threading.enumerate()])

    def test_without_anything_to_tell_nothing_is_asked(self):
        with memory_watch.watched(lambda: self.fail("asked"), [], seconds=0):
            self.assertNotIn("beside", [thread.name for thread in threading.enumerate()])

    def test_detection_has_the_new_window_where_it_looks_for_it(self):
        content = detect.content(64 * MEBIBYTE)
        with preload.shared_memory("test", content, detect.SIZE) as (memory, _):
            detect.narrow(memory, 3 * MEBIBYTE)
            self.assertEqual(os.pread(memory, len(content), 0), detect.content(3 * MEBIBYTE))


if __name__ == "__main__":
    unittest.main()
