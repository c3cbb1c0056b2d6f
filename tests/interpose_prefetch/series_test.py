"""With detection, the next files of a series are in memory before the program opens them; nothing else is, and the program gets what it gets without."""

import contextlib
import ctypes
import os
import random
import struct
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from support import CACHED, PAGE, Case, open_log, page_cache, series, series_ahead

KIB = 1024
SIZE = 64 * KIB
# Reads files as it is told: `read NAME...`, `part NAME...` (its first page), and waits for others without opening them by a call that is seen: `wait NAME...` until
# all of it is in memory, `begins NAME...` until its first page is, `absent NAME` fails if any of it is.
PROGRAM = (
    CACHED
    + """
libc.syscall.restype = ctypes.c_long
def look(name):
    descriptor = libc.syscall(257, -100, name.encode(), 0, 0)  # openat
    assert descriptor >= 0, name
    return map_file(descriptor), os.fstat(descriptor).st_size // 4096 * 4096
way = ""
for word in sys.argv[1:]:
    if word in ("read", "part", "half", "half_begins", "relative", "wait", "begins", "absent"):
        way = word
    elif way == "read":
        with open(word, "rb") as file:
            sys.stdout.buffer.write(file.read())
    elif way == "relative":
        folder = os.open(os.path.dirname(word), os.O_RDONLY | os.O_DIRECTORY)
        descriptor = os.open(os.path.basename(word), os.O_RDONLY, dir_fd=folder)
        sys.stdout.buffer.write(os.read(descriptor, 1 << 20))
        os.close(descriptor)
    elif way in ("part", "half"):
        descriptor = os.open(word, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        sys.stdout.buffer.write(os.pread(descriptor, 4096 if way == "part" else 1 << 19, 0))
        os.close(descriptor)
    elif way == "absent":
        assert not cached(*look(word)[:1], 0, look(word)[1]), word
    else:
        memory, size = look(word)
        while not arrived(memory, 0, {"wait": size, "begins": 4096, "half_begins": 1 << 19}[way]):
            pass
"""
)


class Series(Case):
    def setUp(self):
        super().setUp()
        self.report = self.folder / "report.txt"

    def make(self, *names: str, folder: str = "series", size: int = SIZE) -> list[str]:
        (self.folder / folder).mkdir(exist_ok=True)
        made = [self.file(f"{folder}/{name}", size, seed) for seed, name in enumerate(names)]
        self.forget(*made)
        return [str(path) for path in made]

    def follow(self, *words: str, **options) -> bytes:
        status, output, errors = self.run_with_detection(
            sys.executable, "-c", PROGRAM, *words, report=self.report, **options
        )
        self.assertEqual((status, errors), (0, b""))
        return output

    def asked(self) -> int:
        """Files that were read ahead."""
        lines = [line for line in self.report.read_text().splitlines() if "of a series" in line]
        return int(lines[0].split()[0]) if lines else 0

    def check_in_order(self, names: list[str], way: str = "read", arrives: str = "wait") -> None:
        """What follows the first five comes by itself, and what the program gets is what is in the files."""
        output = self.follow(way, *names[:5], arrives, *names[5:8], way, *names[5:8])
        count = SIZE if way != "part" else 4 * KIB
        self.assertEqual(output, b"".join(Path(name).read_bytes()[:count] for name in names[:8]))

    def test_names_with_a_number(self):
        self.check_in_order(self.make(*[f"data_{number:04}" for number in range(12)]))
        self.assertGreaterEqual(self.asked(), 3)

    def test_in_a_folder_that_says_it_has_never_changed(self):
        names = self.make(*[f"data_{number:04}" for number in range(12)])
        os.utime(self.folder / "series", (0, 0))
        self.check_in_order(names)

    def test_a_folder_on_a_file_system_in_memory_is_not_listed(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            names = [f"{folder}/data_{number:04}" for number in range(12)]
            for name in names:
                Path(name).write_bytes(b"in memory")
            control = self.make(*[f"data_{number:04}" for number in range(12)])
            opened = self.opens_of(folder)
            self.follow("read", *names, *control[:5], "wait", *control[5:7])
            self.assertEqual(opened(), set())

    def test_numbers_without_leading_zeros(self):
        names = self.make(*[f"data_{number}.bin" for number in range(7, 19)])
        self.check_in_order(names)

    def test_the_order_of_the_alphabet(self):
        names = self.make(*sorted(f"{seed * 7919 % 1000:x}_{seed}" for seed in range(12)))
        self.check_in_order(sorted(names))

    def test_the_order_in_which_the_folder_lists_them(self):
        self.make(*[f"{random.Random(seed).randrange(1 << 30):08x}" for seed in range(40)])
        listed = [str(self.folder / "series" / name) for name in os.listdir(self.folder / "series")]
        self.check_in_order(listed)

    def test_streams_of_the_c_library_and_other_programs(self):
        names = self.make(*[f"data_{number:04}" for number in range(12)])
        words = " ".join(names[:5])
        program = (
            f"for name in {words}; do cat $name; done; {sys.executable} -c '{PROGRAM}' wait {' '.join(names[5:7])}"
        )
        status, output, errors = self.run_with_detection("bash", "-c", program.replace("$name", '"$name"'))
        self.assertEqual((status, errors), (0, b""))
        self.assertEqual(output, b"".join(Path(name).read_bytes() for name in names[:5]))

    def test_paths_that_there_is_no_room_for_are_not_seen(self):
        control = self.make(*[f"data_{number:04}" for number in range(12)], folder="control")
        names = self.make(*[f"data_{number:04}" for number in range(12)])
        detours = [name.replace("/series/", "/series/" + "./" * 120) for name in names]
        output = self.follow("read", *detours[:6], *control[:5], "wait", *control[5:7], "absent", *names[6:])
        self.assertEqual(output, b"".join(Path(name).read_bytes() for name in (*names[:6], *control[:5])))

    def test_from_a_folder_of_their_own(self):
        self.check_in_order(self.make(*[f"data_{number:04}" for number in range(12)]), way="relative")

    def test_of_files_of_which_the_beginning_is_read_only_that(self):
        names = self.make(*[f"data_{number:04}" for number in range(12)], size=1024 * KIB)
        self.follow("part", *names[:6], "begins", *names[6:8])
        # A page is all that was read of those before.
        self.assertLessEqual(max(self.cached_pages(name) for name in names[6:8]), 1)

    def test_a_program_that_reads_less_from_somewhere_on(self):
        names = self.make(*[f"data_{number:04}" for number in range(40)], size=256 * KIB)
        self.follow("read", *names[:16], "part", *names[16:18], "begins", *names[18:20])
        self.assertLessEqual(max(self.cached_pages(name) for name in names[18:20]), 1)

    def test_of_long_files_of_which_a_part_is_read_only_that(self):
        names = self.make(*[f"data_{number:04}" for number in range(12)], size=2048 * KIB)
        self.follow("half", *names[:6], "half_begins", *names[6:8])
        # The system itself would read ahead behind a half.
        self.assertLessEqual(max(self.cached_pages(name) for name in names[6:8]), 128)

    def cached_pages(self, name: str) -> int:
        with open(name, "rb") as file:
            return page_cache.cached_pages(file.fileno(), 0, os.path.getsize(name)) or 0

    def test_no_order_and_nothing_is_read_ahead(self):
        control = self.make(*[f"data_{number:04}" for number in range(12)], folder="control")
        names = self.make(*[f"data_{number:04}" for number in range(40)])
        seed = random.Random(20)
        order = names[::3]
        seed.shuffle(order)
        # What comes of the other folder was asked for after all of this had been seen.
        self.follow(
            "read", *order, "read", *control[:5], "wait", *control[5:7], "absent", *[n for n in names if n not in order]
        )

    def test_where_the_series_ends_so_does_the_reading_ahead(self):
        control = self.make(*[f"data_{number:04}" for number in range(12)], folder="control")
        names = self.make(*[f"data_{number:04}" for number in range(60)])
        self.follow(
            "read", *names[:5], "wait", names[5], "read", *control[:5], "wait", *control[5:7], "absent", *names[9:]
        )

    def test_links_and_what_is_no_file_are_not_opened(self):
        names = self.make(*[f"data_{number:04}" for number in range(14)])
        other = self.file("other", SIZE)
        for number, make in ((5, lambda name: os.symlink(other, name)), (6, os.mkfifo), (7, os.mkdir)):
            os.unlink(names[number])
            make(names[number])
        opened = self.opens_of(str(other), names[6], names[7], names[8])
        self.follow("read", *names[:5], "wait", names[8])
        # It was opened to be read ahead, and to be looked at.
        self.assertEqual(opened(), {names[8]})

    def opens_of(self, *names: str) -> Callable[[], set[str]]:
        """Which of them were opened until it is called."""
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.addCleanup(os.close, descriptor)
        in_open = 0x20
        watches = {libc.inotify_add_watch(descriptor, name.encode(), in_open): name for name in names}
        self.assertNotIn(-1, watches)

        def opened() -> set[str]:
            found = set()
            with contextlib.suppress(BlockingIOError):
                while events := os.read(descriptor, 4096):
                    # Of files, not of what is in folders: no name stands behind.
                    at = 0
                    while at < len(events):
                        watch, mask, _, length = struct.unpack_from("iIII", events, at)
                        at += 16 + length
                        if length == 0 and mask & in_open:
                            found.add(watches[watch])
            return found

        return opened

    def test_files_of_another_user_are_not_opened(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make them")
        names = self.make(*[f"data_{number:04}" for number in range(14)])
        os.chown(names[5], 1, -1)
        self.follow("read", *names[:5], "wait", names[6], "absent", names[5])

    def test_their_time_of_last_access_stays(self):
        # Advice alone would not change it.
        names = self.make(*[f"data_{number:04}" for number in range(12)], size=256 * KIB)
        for name in names:
            os.utime(name, (0, 0))
        # The ones before it were read ahead, too; it was mapped besides.
        self.follow("read", *names[:5], "wait", names[8])
        self.assertEqual([os.stat(name).st_atime_ns for name in names[5:8]], [0, 0, 0])
        self.assertEqual(sorted(os.listdir(self.folder / "series")), [os.path.basename(name) for name in names])

    def test_no_more_is_ahead_than_the_window(self):
        names = self.make(*[f"data_{number:04}" for number in range(40)], size=512 * KIB)
        control = self.make(*[f"data_{number:04}" for number in range(12)], folder="control", size=4 * KIB)
        self.follow(
            "read", *names[:12], "wait", *names[12:14], "read", *control[:5], "absent", *names[14:],
            environment={"DOVETAIL_PREFETCH_WINDOW_MB": "1"},
        )  # fmt: skip


class Log(unittest.TestCase):
    """What programs note of their opens."""

    def setUp(self):
        self.memory = os.memfd_create("opens")
        self.addCleanup(os.close, self.memory)
        os.ftruncate(self.memory, PAGE + open_log.BYTES)
        self.log = open_log.OpenLog(self.memory, PAGE)

    def note(self, first: int, end: int) -> None:
        for number in range(first, end):
            slot = struct.pack("<Qii240s", number + 1, -100, 7, b"name %d" % number)
            os.pwrite(self.memory, slot, 2 * PAGE + number % 1024 * len(slot))
        os.pwrite(self.memory, struct.pack("<Q", end), PAGE)

    def names(self, most: int) -> tuple[int, list[str]]:
        count, opens = self.log.new(most)
        return count, [one.path for one in opens]

    def test_the_last_ones_since_the_last_look(self):
        self.assertEqual(self.names(64), (0, []))
        self.note(0, 3)
        self.assertEqual(self.names(64), (3, ["name 0", "name 1", "name 2"]))
        self.assertEqual(self.names(64), (0, []))
        self.note(3, 5000)
        self.assertEqual(self.names(2), (4997, ["name 4998", "name 4999"]))

    def test_one_that_is_being_written_or_has_gone_is_left_out(self):
        self.note(0, 4)
        os.pwrite(self.memory, struct.pack("<Q", 0), 2 * PAGE + 256)
        os.pwrite(self.memory, struct.pack("<Q", 1027), 2 * PAGE + 512)
        self.assertEqual(self.names(64), (4, ["name 0", "name 3"]))

    def test_where_relative_paths_begin(self):
        folder = os.open("/proc", os.O_RDONLY)
        self.addCleanup(os.close, folder)
        own = os.getpid()
        opens = [
            open_log.Opened(*one)
            for one in (("/a/b", 5, 0), ("c", -100, own), ("d", folder, own), ("e", 999, own), ("f", -100, 1 << 30))
        ]
        self.assertEqual(list(open_log.paths(opens)), ["/a/b", f"{os.getcwd()}/c", "/proc/d"])


class Looks(Case):
    """What is done about many opens at a time."""

    def setUp(self):
        super().setUp()
        self.memory = os.memfd_create("opens")
        self.addCleanup(os.close, self.memory)
        os.ftruncate(self.memory, open_log.BYTES)
        self.opens = 0
        self.over = threading.Event()
        self.ahead = series_ahead.SeriesAhead(self.memory, 0, 64 << 20, time.monotonic())

    def note(self, *names: Path) -> None:
        for name in names:
            slot = struct.pack("<Qii240s", self.opens + 1, -100, 7, os.fsencode(name))
            os.pwrite(self.memory, slot, PAGE + self.opens % open_log.SLOTS * len(slot))
            self.opens += 1
        os.pwrite(self.memory, struct.pack("<Q", self.opens), 0)

    def look(self) -> str:
        """The report behind a last look."""
        self.over.set()
        with mock.patch.object(series_ahead, "_MOST_OPENS_A_SECOND", 1e9):
            self.ahead.follow(self.over)
        return "".join(self.ahead.lines())

    def test_those_of_one_look_are_all_seen(self):
        names = [self.file(f"data_{number:03}", 4 * KIB, number) for number in range(304)]
        self.note(*names)
        self.look()
        (seen,) = self.ahead._seen.values()
        self.assertEqual(max(one.came_true for one in seen.folder.all()), 303)

    def test_what_was_opened_before_the_first_look_counts_by_its_time(self):
        """That many in a moment would be too many."""
        self.ahead = series_ahead.SeriesAhead(self.memory, 0, 64 << 20, time.monotonic() - 1000)
        self.note(*[self.file(f"data_{number:03}", 4 * KIB, number) for number in range(304)])
        self.over.set()
        self.ahead.follow(self.over)
        self.assertEqual(len(self.ahead._seen), 1)

    def test_folders_that_are_forgotten_leave_their_account(self):
        for number in range(70):
            names = [self.file(f"data_{number:02}_{part}.{number}", 4 * KIB, part) for part in range(5)]
            self.note(*names)
        self.look()
        self.assertLessEqual(len(self.ahead._seen), 64)
        key = next(iter(self.ahead._seen))
        self.ahead._seen[key].account.wasted = 5 << 20
        self.ahead._forget(key)
        self.ahead._note(os.path.join(key[0], f"new{key[1]}"), {})
        self.assertEqual(self.ahead._seen[key].account.wasted, 5 << 20)

    def test_a_folder_that_is_listed_anew_keeps_its_account(self):
        names = [self.file(f"data_{number:02}", 4 * KIB, number) for number in range(30)]
        self.note(*names[:8])
        self.look()
        (seen,) = self.ahead._seen.values()
        seen.account.wasted = 5 << 20
        seen.list_at = 0
        new = [self.file(f"new_{number:02}", 4 * KIB, number) for number in range(8)]
        before = seen.folder
        self.note(*new)
        self.look()
        self.assertIsNot(seen.folder, before)
        series_of_new = max(seen.folder.all(), key=lambda one: one.came_true)
        self.assertGreater(series_of_new.came_true, 3)
        self.assertFalse(seen.folder.asks(series_of_new))

    def test_large_folders_are_not_kept_without_a_bound(self):
        with mock.patch.object(series_ahead, "_MOST_NAMES_KEPT", 25):
            for number in range(4):
                self.note(*[self.file(f"data_{number:02}_{part}.{number}", 4 * KIB, part) for part in range(10)])
            self.look()
        self.assertEqual(sum(len(seen.folder) for seen in self.ahead._seen.values() if seen.folder), 20)

    def test_a_folder_of_too_many_names_of_any_kind_is_not_looked_at(self):
        names = [self.file(f"data_{number:02}", 4 * KIB, number) for number in range(10)]
        for number in range(5):
            self.file(f"other_{number}.txt", 1)
        with mock.patch.object(series_ahead, "_MOST_NAMES", 12):
            self.note(*names)
            self.look()
        self.assertEqual([seen.folder for seen in self.ahead._seen.values()], [None])


class Order(unittest.TestCase):
    """What is known of a folder from the names that were opened."""

    def setUp(self):
        self.wasted = []
        self.names = [f"{kind}_{number}" for kind in "ab" for number in range(1, 40)]
        random.Random(1).shuffle(self.names)
        self.account = series.Account()
        self.of = series.Folder(self.names, self.account, self.wasted.append)

    def opened(self, *names: str) -> series.Series:
        for name in names:
            found = self.of.opened(name)
        return found[0]

    def test_numbers_count_and_two_series_by_turns_are_two(self):
        for number in range(1, 13):
            first, second = self.opened(f"a_{number}"), self.opened(f"b_{number}")
            self.assertEqual((first.came_true, second.came_true), (number - 1, number - 1))
            self.assertEqual(self.of.asks(first), number > 3)
            if number > 1:
                self.assertEqual(first.names[first.place + 1], f"a_{number + 1}")

    def test_a_file_that_is_opened_again_changes_nothing(self):
        self.opened("a_1", "a_2")
        self.assertIsNone(self.of.opened("a_2"))
        self.assertEqual(self.opened("a_3", "a_1", "a_3", "a_4").came_true, 3)

    def test_another_file_ends_it(self):
        self.assertEqual(self.opened("a_1", "a_2", "a_3", "a_4").came_true, 3)
        self.assertEqual(self.opened("a_7").came_true, 0)

    def ask(self, first: int, count: int) -> series.Series:
        """A series that gives up at once."""
        found = self.opened(*[f"a_{number}" for number in range(first, first + 8)])
        if self.of.asks(found):
            found.pending.append((found.place + 1, count))
        self.of.retire_all()
        return found

    def test_what_was_in_vain_makes_it_take_longer_and_then_ends_it(self):
        self.ask(1, 1 << 20)
        self.assertEqual(self.wasted, [1 << 20])
        # Eight in their order are seven that came true: 3 are enough, then 6, then 12.
        self.ask(20, 1 << 20)
        self.ask(1, 1 << 20)
        self.assertEqual(self.wasted, [1 << 20] * 2)

    def test_more_than_a_little_in_vain_and_nothing_is_asked_for(self):
        self.ask(1, 5 << 20)
        self.assertFalse(self.of.asks(self.opened(*[f"b_{number}" for number in range(1, 39)])))
        self.assertEqual(self.wasted, [5 << 20])

    def test_what_was_in_vain_counts_when_the_folder_is_listed_anew(self):
        self.ask(1, 5 << 20)
        self.of = series.Folder(self.names, self.account, self.wasted.append)
        self.assertFalse(self.of.asks(self.opened(*[f"b_{number}" for number in range(1, 39)])))

    def test_two_that_come_to_the_same_file_are_one(self):
        ahead = self.opened("a_1", "a_2", "a_3", "a_4", "a_5")
        ahead.pending.extend([(ahead.place + 1, 7), (ahead.place + 2, 11)])
        behind = self.opened("a_2", "a_3", "a_4")
        self.assertIsNot(behind, ahead)
        met = self.opened("a_5")
        self.assertEqual((self.wasted, met.outstanding(), met.came_true), ([], 18, 4))
        self.assertEqual(self.opened("a_6").outstanding(), 11)

    def test_what_was_used_is_counted(self):
        found = self.opened("b_1", "b_2")
        found.pending.extend([(found.place + 1, 7), (found.place + 2, 11)])
        self.assertEqual(self.of.opened("b_3")[1], 7)
        self.assertEqual(found.outstanding(), 11)


if __name__ == "__main__":
    unittest.main(verbosity=2)
