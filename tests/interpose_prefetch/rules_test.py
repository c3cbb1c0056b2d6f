"""By the rules of a configuration the system reads ahead, releases, and is told how a file is read."""

import sys
import unittest

from support import CACHED, Case, Ways, pages_stay

BLOCK = 1 << 20
# Reads as it is told, waits until pages are cached, or gone, that no call has read or dropped, and says what is cached.
READER = (
    CACHED
    + """
way, path = sys.argv[1:]
BLOCK = 1 << 20
descriptor = os.open(path, os.O_RDONLY)
size = os.fstat(descriptor).st_size
memory = map_file(descriptor)
def at(offset):
    os.pread(descriptor, 8, offset)
def come_to(number):
    at(number * BLOCK)
    while not arrived(memory, number * BLOCK, 4 * BLOCK):
        at(number * BLOCK)
if way == "ahead":
    come_to(3)
    print(cached(memory, 7 * BLOCK, BLOCK), cached(memory, 0, 3 * BLOCK))
elif way == "behind":
    for number in range(13):
        come_to(number)
    # The first block was in part there when it was asked for.
    while cached(memory, BLOCK, 7 * BLOCK):
        at(12 * BLOCK)
    print(cached(memory, 8 * BLOCK, 8 * BLOCK))
elif way == "released":
    for offset in range(0, 8 * BLOCK, 4096):
        at(offset)
    while cached(memory, 0, 4 * BLOCK):
        at(8 * BLOCK - 4096)
elif way == "whole":
    for offset in range(0, size, 4096):
        at(offset)
    while cached(memory, 0, 10 * BLOCK):
        at(size - 4096)
elif way == "sequence":
    for first in (0, 8 * BLOCK):
        for offset in range(first, first + 16384, 4096):
            at(offset)
    # Of each half what follows on the four pages.
    print(cached(memory, 16384), cached(memory, 8 * BLOCK + 16384))
elif way == "position":
    os.lseek(descriptor, 3 * BLOCK, os.SEEK_SET)
    os.read(descriptor, 8)
    while not arrived(memory, 4 * BLOCK, 3 * BLOCK):
        os.read(descriptor, 8)
elif way == "position_of_two":
    at(3 * BLOCK)
    while not arrived(memory, 3 * BLOCK, 2 * BLOCK):
        at(3 * BLOCK)
elif way == "two":
    other = os.open(path + ".other", os.O_RDONLY)
    first, second = memory, map_file(other)
    # Both want advice at the same time, which one thread gives.
    for number in range(0, 12, 4):
        for each in (descriptor, other):
            os.pread(each, 8, number * BLOCK)
        for memory in (first, second):
            while not arrived(memory, number * BLOCK, 4 * BLOCK):
                for each in (descriptor, other):
                    os.pread(each, 8, number * BLOCK)
elif way == "cached":
    print(sum(len(os.pread(descriptor, BLOCK, offset)) for offset in range(0, size, BLOCK)))
    while len(os.listdir("/proc/self/task")) > 1:
        pass  # the helper looks whether the file is cached, and ends
elif way == "direct":
    import mmap
    direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, BLOCK)
    print(sum(os.preadv(direct, [buffer], number * BLOCK) for number in range(4)))
elif way == "all":
    print(sum(len(os.pread(descriptor, BLOCK, offset)) for offset in range(0, size, BLOCK)))
"""
)


class Rules(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 16 * BLOCK)
        self.reader = self.folder / "reader.py"
        self.reader.write_text(READER)

    def read(self, way: str, report=None, path=None, **rule):
        sizes = {"BlockSize": BLOCK, "CacheSize": 8, "ReadAheadSize": 4}
        rules = {"File": {"Path": str(path or self.path), **sizes, **rule}}
        self.forget(self.path)
        status, output, errors = self.run_with_rules(rules, sys.executable, self.reader, way, self.path, report=report)
        self.assertEqual((status, errors), (0, b""), output)
        return output.decode().split()

    def test_the_block_that_is_read_and_the_following_ones_are_read_ahead(self):
        behind, before = self.read("ahead", WillNeed={})
        self.assertEqual(behind, "0", "four blocks from the one that is read on")
        self.assertEqual(before, "0")

    def test_two_files_at_the_same_time(self):
        self.forget(self.file("data.other", 16 * BLOCK, 2))
        self.read("two", path=self.folder / "data*", WillNeed={})

    def test_reads_from_the_file_position_count(self):
        self.read("position", WillNeed={})

    def test_older_blocks_are_released(self):
        report = self.folder / "report.txt"
        (pages,) = self.read("behind", WillNeed={}, report=report)
        self.assertEqual(
            report.read_text().splitlines()[2].split()[5], "7.3", "seven blocks, and none of the most recent"
        )
        if pages_stay():
            self.assertEqual(pages, "2048", "the most recent ones stay")

    def test_what_is_not_needed_any_more_is_released(self):
        # The system brings in what is read in sequence by up to 2 MiB at once, and drops it only as a whole.
        self.read("released", DontNeed={}, BlockSize=2 * BLOCK, CacheSize=2, ReadAheadSize=0)

    def test_a_whole_file_that_is_not_needed_any_more_is_released(self):
        self.read("whole", DontNeed={}, BlockSize=2 * BLOCK, CacheSize=2, ReadAheadSize=0)

    def test_each_part_is_read_by_its_advice(self):
        half = 8 * BLOCK
        self.assertEqual(self.read("sequence", Random={"Length": half}, Normal={"Offset": half}), ["0", "1"])
        self.assertEqual(self.read("sequence", Normal={"Length": half}, Random={"Offset": half}), ["1", "0"])

    def test_nothing_is_done_for_other_files_and_other_programs(self):
        report = self.folder / "report.txt"
        for rule in ({"path": self.folder / "other*"}, {"Processes": "nobody"}):
            self.read("all", WillNeed={}, report=report, **rule)
            self.assertEqual(report.read_text().splitlines()[1:], ["no file was read that a rule is about"])
        self.read("all", WillNeed={}, report=report, Processes=["nobody", "python*"])
        self.assertIn(str(self.path), report.read_text())

    def test_the_report(self):
        report = self.folder / "report.txt"
        self.read("behind", WillNeed={}, report=report)
        _, head, line, device = report.read_text().splitlines()
        self.assertEqual(head.split("  ")[-1], "file, by a rule")
        reads, in_memory, waited, seconds, asked, released, unread, blocks, in_time, late, path = line.split()
        # Each block is read once or more often, and the last one many times.
        self.assertGreaterEqual(int(reads), 13)
        self.assertEqual(int(in_memory) + int(waited), int(reads))
        self.assertGreaterEqual(float(seconds) + 0.0005, 1e-4 * int(waited), "each took longer than that")
        self.assertRegex(device, r"^device \d+:\d+ served \d+ reads, ")
        self.assertEqual((asked, path), ("16.8", str(self.path)))
        self.assertGreaterEqual(float(released), 7.3)
        self.assertEqual(int(blocks), 13)
        self.assertEqual(int(in_time) + int(late), 12, "the first block was not asked for before")
        self.assertEqual(unread, "3.1", "three blocks behind the last one")

    def test_what_bypasses_the_page_cache_is_left_alone(self):
        report = self.folder / "report.txt"
        self.assertEqual(self.read("direct", WillNeed={}, report=report), [str(4 * BLOCK)])
        self.assertEqual(report.read_text().splitlines()[1:], ["no file was read that a rule is about"])

    def test_a_rule_has_no_more_memory_than_it_says(self):
        report = self.folder / "report.txt"
        self.read("position_of_two", WillNeed={}, MemorySize=2 * BLOCK, report=report)
        self.assertEqual(report.read_text().splitlines()[2].split()[4], "2.1", "two blocks, and not four")

    def test_a_file_that_is_in_memory_is_left_to_the_system(self):
        report = self.folder / "report.txt"
        rules = {"Directory": {"Path": str(self.folder), "WillNeed": {}}}
        self.path.read_bytes()
        status, output, _ = self.run_with_rules(rules, sys.executable, self.reader, "cached", self.path, report=report)
        self.assertEqual((status, output), (0, f"{16 * BLOCK}\n".encode()))
        line = next(line for line in report.read_text().splitlines() if str(self.path) in line)
        self.assertIn("all of it was in memory", line)
        self.assertEqual(line.split()[4:7], ["0.0", "0.0", "0.0"])

    def test_what_is_wrong_with_a_configuration_is_told_before_the_program_runs(self):
        path = self.folder / "advice.json"
        path.write_text('{\n  "File": {\n    "Path": "/a",\n    "BlokSize": 4096\n  }\n}\n')
        status, output, errors = self.dovetail("run", "--configuration", path, "--", "echo", "run")
        self.assertEqual((status, output), (2, b""))
        self.assertIn(b"advice.json:4: File.BlokSize", errors)
        self.assertEqual(errors.count(b"\n"), 1, errors)
        for words in (("--configuration", path, "--advised"), ("--configuration", path, "--hdf5")):
            status, output, errors = self.dovetail("run", *words, "--", "echo", "run")
            self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)

    def test_with_detection_as_well(self):
        other = self.file("other", 16 * BLOCK, 2)
        self.forget(self.path, other)
        script = self.folder / "both.py"
        script.write_text(
            READER.replace("way, path = sys.argv[1:]", 'way, path, other = "none", *sys.argv[1:]')
            + """
come_to(3)
descriptor = os.open(other, os.O_RDONLY)
memory = map_file(descriptor)
for offset in range(0, 12 * BLOCK, BLOCK):
    os.pread(descriptor, 8192, offset)
while not arrived(memory, 12 * BLOCK) or not arrived(memory, 13 * BLOCK):
    os.pread(descriptor, 8192, 11 * BLOCK)
"""
        )
        rules = {"File": {"Path": str(self.path), "BlockSize": BLOCK, "WillNeed": {}}}
        ways = Ways(configuration=self.configuration(rules), detection=True)
        self.assertEqual(self.run_in(ways, sys.executable, script, self.path, other), (0, b"", b""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
