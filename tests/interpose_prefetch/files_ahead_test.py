"""With a plan, the beginnings of files are read before the program opens them; no further ahead than the window, and only of the plan's own files."""

import errno
import os
import sys
import threading
import unittest
from unittest import mock

from followed import unavailable
from support import CACHED, Case, read_plan, replay

KIB = 1024
# No call of this program brings in what it waits for: it reads nothing, and maps each file to look at it. With "hold", the last file of all is shown.
PROGRAM = (
    CACHED
    + """
way, names = sys.argv[1], sys.argv[2:]
def look(name, most=131072):
    descriptor = os.open(name, os.O_RDONLY)
    memory, size = map_file(descriptor), os.fstat(descriptor).st_size
    return memory, min(size, most) // 4096 * 4096
def wait_for(names, most=131072):
    places = [look(name, most) for name in names]
    while not all([arrived(memory, 0, size) for memory, size in places]):
        pass
def read(name):
    with open(name, "rb", buffering=0) as file:
        file.read()
if way == "read":
    for name in names:
        read(name)
elif way == "wait":
    wait_for(names)
    behind = [(look(name)[0], os.path.getsize(name) - 131072) for name in names if os.path.getsize(name) > 131072]
    # A page that somebody holds cannot be dropped before the test.
    print(sum(cached(memory, 131072, size) > size // 8192 for memory, size in behind))
elif way == "whole":
    wait_for(names, 1 << 20)
elif way == "hold":
    wait_for(names[:8])
    print(cached(*look(names[-1])[:1], 0, look(names[-1])[1]))
    read(names[7])
    wait_for(names[8:16])
elif way == "replace":
    # Behind the window.
    os.replace("other", names[20])
    os.unlink(names[21])
    os.mkfifo(names[21])
    for number in (5, 10, 15, 20):
        wait_for(names[number - 5 : number])
        read(names[number - 1])
    wait_for(names[22:24])
    print(cached(look(names[20])[0], 0, 4096))
"""
)


class FilesAhead(Case):
    def setUp(self):
        super().setUp()
        self.names = []

    def make(self, *sizes: int) -> None:
        self.names = [self.file(f"{number:03}", size, number) for number, size in enumerate(sizes)]
        self.assertEqual(self.observe(*self.words("read"))[0], 0)
        self.forget(*self.names)

    def words(self, way: str):
        return sys.executable, "-c", PROGRAM, way, *self.names

    def follow(self, way: str, **environment: str):
        return self.run_with_plan(*self.words(way), environment=environment)

    def test_small_files_are_there_before_the_program_has_read_any(self):
        self.make(*[8 * KIB] * 100)
        self.assertEqual(self.follow("wait"), (0, b"0\n", b""))

    def test_also_where_the_file_system_cannot_be_asked_what_is_cached(self):
        self.make(*[8 * KIB] * 100)
        with mock.patch.object(os, "preadv", side_effect=OSError(errno.EOPNOTSUPP, "not here")):
            self.assertEqual(self.follow("wait"), (0, b"0\n", b""))

    def test_the_program_runs_where_no_thread_can_be_made(self):
        self.make(*[8 * KIB] * 4)
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(self.follow("read"), (0, b"", b""))

    def test_of_a_large_file_only_the_beginning(self):
        self.make(*[6144 * KIB] * 4)
        self.assertEqual(self.follow("wait"), (0, b"0\n", b""))

    def test_a_file_that_takes_more_than_one_request_comes_whole(self):
        self.make(*[1024 * KIB] * 4)
        self.assertEqual(self.follow("whole"), (0, b"", b""))

    def test_no_further_ahead_than_the_window(self):
        self.make(*[128 * KIB] * 64)
        self.assertEqual(self.follow("hold", DOVETAIL_PREFETCH_WINDOW_MB="1"), (0, b"0\n", b""))

    def test_a_file_that_is_another_one_by_then_is_not_opened(self):
        self.make(*[128 * KIB] * 64)
        self.file("other", 128 * KIB)
        self.forget(self.folder / "other")
        self.assertEqual(self.follow("replace", DOVETAIL_PREFETCH_WINDOW_MB="1"), (0, b"0\n", b""))

    def test_a_program_that_ends_at_once_is_not_waited_for(self):
        self.make(*[128 * KIB] * 64)
        self.assertEqual(self.follow("nothing", DOVETAIL_PREFETCH_WINDOW_MB="1"), (0, b"", b""))


class FilesAheadLeftToTheSystem(FilesAhead):
    """Also those that the library does not follow: it tells only that the program has come to them."""

    sequences_are_left = True

    def test_few_bytes_are_followed_by_nobody(self):
        self.make(*[8 * KIB] * 100)
        names = {str(name) for name in self.names}

        def known(window: int) -> list[str]:
            return [file.path for file in replay.compact(read_plan(self.plan_file), window).files if file.path in names]

        self.assertEqual(known(64 << 20), [])
        self.assertEqual(sorted(known(100 * 8 * KIB - 1)), sorted(names))


class FilesAheadFromOutside(FilesAheadLeftToTheSystem):
    """The kernel's events tell it."""

    def setUp(self):
        super().setUp()
        why = unavailable()
        if why:
            self.skipTest(why)

    def follow(self, way: str, **environment: str):
        return self.run_with_plan(*self.words(way), system=True, environment=environment)


if __name__ == "__main__":
    unittest.main()
