"""Without a plan the system reads ahead what the reads of a program foretell, and nothing where they foretell nothing."""

import os
import random
import re
import sys
import unittest
from unittest import mock

from support import BUILD, CACHED, Case, detect, mounts, need, preload

MIB = 1 << 20
# Reads in a pattern, then waits until pages are cached that no call has read, then ends or goes on.
READER = (
    CACHED
    + """
way, path = sys.argv[1:]
import threading
size = os.path.getsize(path)
descriptor = os.open(path, os.O_RDONLY)
memory = map_file(descriptor)
def wait_for(offsets, again):
    while not all([arrived(memory, offset // 4096 * 4096) for offset in offsets]):
        again()
def at(offset, bytes=8192):
    os.pread(descriptor, bytes, offset)
steps = list(range(0, size, 1 << 20))
if way == "backward":
    steps.reverse()
if way in ("strides", "backward"):
    for offset in steps[:12]:
        at(offset)
    wait_for(steps[12:15], lambda: at(steps[11]))
    # Not what lies between.
    print(sum(cached(memory, offset + (1 << 19)) for offset in steps))
elif way == "all":
    for offset in steps:
        at(offset)
elif way == "cached":
    for offset in steps:
        at(offset)
    while len(os.listdir("/proc/self/task")) > 1:
        pass  # the helper looks whether the file is cached, and ends
    at(steps[0])
elif way == "waits":
    for offset in steps[:12]:
        at(offset)
    # Enough to be seen in the report, which has tenths of a megabyte.
    wait_for(steps[12:20], lambda: at(steps[11]))
    for offset in steps[12:]:
        at(offset)
elif way == "sought":
    for offset in steps[:16]:
        os.lseek(descriptor, offset, os.SEEK_SET)
        os.read(descriptor, 8192)
    wait_for(steps[16:18], lambda: (os.lseek(descriptor, steps[15], os.SEEK_SET), os.read(descriptor, 8192)))
elif way == "stream":
    libc.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.fopen(path.encode(), b"r"))
    data = ctypes.create_string_buffer(5000)
    def read(offset):
        libc.fseek(file, ctypes.c_long(offset), 0)
        libc.fread(data, 1, 5000, file)
    for offset in steps[:20]:
        read(offset)
    wait_for(steps[20:22], lambda: read(steps[19]))
elif way == "clusters":
    # Four pieces with a step back, then a leap.
    def cluster(base):
        for piece in (3, 0, 2, 1):
            at(base + piece * 20480, 16384)
    bases = list(range(0, size - (1 << 20), 1 << 20))
    for base in bases[:12]:
        cluster(base)
    wait_for([bases[12] + piece * 20480 for piece in range(4)], lambda: at(bases[11]))
elif way == "streams":
    half = len(steps) // 2
    for one, other in zip(steps[:12], steps[half:]):
        at(one)
        at(other)
    wait_for([steps[12], steps[half + 12]], lambda: (at(steps[11]), at(steps[half + 11])))
elif way == "child":
    for offset in steps[:4]:
        at(offset)
    if os.fork() == 0:
        for offset in steps[4:14]:
            at(offset)
        wait_for(steps[14:16], lambda: at(steps[13]))
        os._exit(0)
    os.wait()
elif way == "threads":
    each = len(steps) // 4
    def read(first):
        for offset in steps[first : first + each]:
            at(offset)
    threads = [threading.Thread(target=read, args=(number * each,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
elif way == "sequence":
    while os.read(descriptor, 131072):
        pass
elif way == "random":
    import random
    dice = random.Random(5)
    for _ in range(1000):
        at(dice.randrange(size - 8192))
elif way == "again":
    import random
    some = random.Random(5).sample(range(0, size, 131072), 200)
    for offset in some:
        at(offset)
    while any([cached(memory, offset) for offset in some]):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    for offset in some[:12]:
        at(offset)
    # None of these offsets is between two that were read: the gap is nothing.
    wait_for(some[12:15], lambda: at(some[11]))
elif way == "lost":
    import random
    dice = random.Random(5)
    for offset in steps[:30]:
        at(offset)
    wait_for(steps[30:32], lambda: at(steps[29]))
    for _ in range(300):
        at(dice.randrange(size - 8192))
elif way == "duplicate":
    for offset in steps[:30]:
        at(offset)
    wait_for(steps[30:32], lambda: at(steps[29]))
    other = os.dup(descriptor)
    for offset in range(0, size, 131072):
        os.pread(other, 131072, offset)
elif way == "planned_then_strides":
    # What the plan does not have.
    for offset in steps[:24]:
        at(offset + (1 << 18))
    wait_for([offset + (1 << 18) for offset in steps[24:26]], lambda: at(steps[23] + (1 << 18)))
"""
)
EXACT = {"DOVETAIL_PREFETCH_GAP_KB": "0"}


class Detection(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 48 * MIB)
        self.forget(self.path)

    def words(self, way: str, path=None):
        return sys.executable, "-c", READER, way, path or self.path

    def run_way(self, way: str, **options):
        found = self.run_with_detection(*self.words(way), environment=EXACT, **options)
        self.assertEqual((found[0], found[2]), (0, b""), (way, found))
        return found[1]

    def advice(self, way: str, path=None) -> list[str]:
        """The last argument of each call, in turn, that was about the file."""
        strace = need(self, "strace")
        path = path or self.path
        log = self.folder / "log"
        command = (strace, "-f", "-y", "-e", "trace=fadvise64", "-o", log, *self.words(way, path))
        status, _, errors = self.run_with_detection(*command, environment=EXACT)
        if status != 0 and b"ptrace" in errors:
            self.skipTest("no process may be traced here")
        self.assertEqual(status, 0, errors)
        return re.findall(rf"fadvise64\(\d+<{re.escape(str(path))}>, .*POSIX_FADV_(\w+)", log.read_text())

    # Each of these ends only when pages have come that no call has read.
    def test_strides_forward_and_backward_come_by_themselves_and_nothing_else(self):
        for way in ("strides", "backward"):
            self.forget(self.path)
            self.assertEqual(self.run_way(way), b"0\n", way)

    def test_a_program_that_seeks_and_reads(self):
        self.run_way("sought")

    def test_a_stream_of_the_c_library(self):
        self.run_way("stream")

    def test_clusters_with_steps_back(self):
        # The system takes a gap of a page for granted.
        found = self.run_with_detection(*self.words("clusters"), environment={"DOVETAIL_PREFETCH_GAP_KB": "64"})
        self.assertEqual(found, (0, b"", b""))

    def test_two_streams_in_one_file(self):
        self.run_way("streams")

    def test_a_child_goes_on_where_its_parent_was(self):
        self.run_way("child")

    def test_places_that_are_read_again_in_the_same_order(self):
        self.run_way("again")

    def test_threads(self):
        self.run_way("threads")

    def test_the_system_is_told_and_told_again_when_the_pattern_is_lost(self):
        found = self.advice("lost")
        self.assertIn("WILLNEED", found)
        self.assertEqual([one for one in found if one != "WILLNEED"], ["RANDOM", "NORMAL"])

    def test_a_duplicate_that_is_read_in_sequence_is_left_to_the_system(self):
        found = self.advice("duplicate")
        self.assertEqual([one for one in found if one != "WILLNEED"], ["RANDOM", "NORMAL"])

    def test_no_advice_where_there_is_no_pattern(self):
        for way in ("sequence", "random"):
            self.assertEqual(self.advice(way), [], way)

    def test_no_advice_for_a_small_file(self):
        path = self.file("small", MIB - 1)
        self.assertEqual(self.advice("sequence", path), [])
        self.assertEqual(self.advice("random", path), [])

    def test_what_is_cached_is_left_to_the_system(self):
        self.path.read_bytes()
        found = self.advice("cached")
        if "WILLNEED" in found:
            self.skipTest("this kernel has no cachestat")
        self.assertEqual(found.count("RANDOM"), found.count("NORMAL"))

    def test_files_that_a_plan_does_not_have(self):
        other = self.file("other", 2 * MIB)
        self.assertEqual(self.observe("cat", other)[0], 0)
        self.assertEqual(self.run_way("strides", plan=True), b"0\n")

    def test_a_file_that_has_left_its_plan(self):
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        self.forget(self.path)
        self.run_way("planned_then_strides", plan=True)

    def test_both_fit(self):
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        self.forget(self.path)
        report = self.folder / "report.txt"
        self.run_way("all", plan=True, report=report)
        text = report.read_text()
        self.assertIn("\nreads  in memory", text)
        self.assertIn("nothing was read ahead", text)

    def test_the_report_says_what_was_used(self):
        report = self.folder / "report.txt"
        self.run_way("waits", report=report)
        (line,) = [line for line in report.read_text().splitlines() if str(self.path) in line]
        reads, in_memory, waited, seconds, asked, used, wasted, late, path = line.split()
        self.assertGreater(int(reads), 0)
        self.assertEqual(int(in_memory) + int(waited), int(reads))
        self.assertGreaterEqual(float(seconds) + 0.0005, 1e-4 * int(waited), "each took longer than that")
        self.assertRegex(report.read_text(), r"(?m)^device \d+:\d+ served \d+ reads, ")
        self.assertEqual(path, str(self.path))
        self.assertGreater(float(asked), 0.0)
        self.assertGreater(float(used), 0.2)
        self.assertEqual(wasted, "0.0")
        self.assertGreaterEqual(int(late), 0)

    def test_the_report_does_not_cut_a_long_path_short(self):
        folder = self.folder / ("long" * 50)
        folder.mkdir()
        path = self.file(f"{folder.name}/data", 48 * MIB)
        self.forget(path)
        report = self.folder / "report.txt"
        found = self.run_with_detection(*self.words("waits", path), environment=EXACT, report=report)
        self.assertEqual((found[0], found[2]), (0, b""))
        self.assertIn("a file whose path is long", report.read_text())
        self.assertNotIn("longlong", report.read_text())

    def test_the_report_of_a_program_that_is_killed(self):
        report = self.folder / "report.txt"
        script = f"{sys.executable} -c '{READER}' waits data; kill -KILL $$"
        self.assertEqual(self.run_with_detection("sh", "-c", script, report=report, environment=EXACT)[0], -9)
        self.assertIn(str(self.path), report.read_text())

    def test_as_a_user_calls_it(self):
        report = self.folder / "report.txt"
        words = ("run", "--detect", "--report", report, "--", "sh", "-c", "cat data | cksum; exit 7")
        status, output, errors = self.dovetail(*words)
        self.assertEqual((status, errors), (7, b""))
        self.assertEqual(output, self.run_as_it_is("sh", "-c", "cat data | cksum")[1])
        self.assertIn("nothing was read ahead", report.read_text())
        status, _, errors = self.dovetail("run", "--detect", "--hdf5", "--", "true")
        self.assertEqual(status, 2)
        self.assertIn(b"go with no other option", errors)


class Memory(Case):
    """What `dovetail` would never hand over."""

    def test_memory_that_is_no_table(self):
        path = self.file("data", 2 * MIB)
        library = BUILD / "lib" / "libdovetail-prefetch.so"
        short = self.file("short", 10)
        for memory in ("", "/does/not/exist", short, path, self.folder, "/dev/zero", "/proc/self/fd/0"):
            environment = {"LD_PRELOAD": str(library), "DOVETAIL_PREFETCH_DETECTION": str(memory)}
            found = self.run_as_it_is("cat", path, environment=environment)
            self.assertEqual(found, (0, path.read_bytes(), b""), memory)
        self.assertEqual(short.stat().st_size, 10)

    def test_a_table_in_which_others_write(self):
        seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
        print("DOVETAIL_TEST_SEED is", seed, flush=True)
        path = self.file("data", 48 * MIB)
        words = [sys.executable, "-c", READER, "all", str(path)]
        content = detect.content(8 * MIB)
        for number in range(int(os.environ.get("DOVETAIL_TEST_ROUNDS", "12"))):
            self.forget(path)
            dice = random.Random(seed + number)

            def run(dice=dice) -> int:
                with preload.shared_memory("table", content, detect.SIZE) as (memory, way):
                    # What a first program has left in it, changed.
                    preload.run(words, {"DOVETAIL_PREFETCH_DETECTION": way})
                    for place in range(1024):
                        at = 4096 + place * detect.PLACE_BYTES
                        if os.pread(memory, 4, at) != bytes(4):
                            for _ in range(dice.choice((1, 10, 300))):
                                number = dice.choice((0, 1, 70, (1 << 32) - 1, dice.getrandbits(32)))
                                # The detector, and what is in front in the memory of repetitions; or any place.
                                places = dice.choice((2038, detect.PLACE_BYTES // 4 - 10))
                                os.pwrite(memory, number.to_bytes(4, "little"), at + 40 + dice.randrange(places) * 4)
                    status = preload.run(words, {"DOVETAIL_PREFETCH_DETECTION": way})
                    list(detect.detected(memory))
                    return status

            self.assertEqual(self._in_child(run), (0, b"", b""), f"DOVETAIL_TEST_SEED={seed + number}")


class Mounts(Case):
    def test_a_mount_point_with_any_name(self):
        table = self.folder / "mountinfo"
        names = (b"/\xe9", b"/\r", "/\u2028".encode())
        table.write_bytes(
            b"".join(b"36 35 98:%d / %s rw - ext4 /dev/x rw\n" % (i, name) for i, name in enumerate(names))
        )
        with mock.patch.object(mounts, "_TABLE", table):
            found = list(mounts.devices())
        self.assertEqual(found, [(os.makedev(98, number), True) for number in range(3)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
