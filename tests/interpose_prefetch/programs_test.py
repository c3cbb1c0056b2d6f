"""Real programs: the plan says what they have read, and they give the same without, observed and with a plan."""

import os
import sys
import unittest

from support import BUILD, PAGE, Case, need

READER = """
import hashlib, mmap, os, sys
way, path = sys.argv[1:]
size = os.path.getsize(path)
digest = hashlib.sha1()
if way in ("strided", "backward", "random"):
    descriptor = os.open(path, os.O_RDONLY)
    steps = range(0, size, 40960)
    if way == "backward":
        steps = reversed(steps)
    if way == "random":
        import random
        steps = random.Random(3).sample(list(steps), len(steps))
    for offset in steps:
        digest.update(os.pread(descriptor, 10000, offset))
elif way == "buffered":
    with open(path, "rb") as file:
        while data := file.read(30000):
            digest.update(data)
            file.seek(50000, 1)
elif way == "mapped":
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        digest.update(memory[100000:200000])
elif way == "child":
    descriptor = os.open(path, os.O_RDONLY)
    if os.fork() == 0:
        os.pread(descriptor, 5000, 81920)
        os._exit(0)
    os.wait()
    digest.update(os.pread(descriptor, 5000, 0))
print(digest.hexdigest())
"""


def pages(offset, count, size):
    return offset // PAGE * PAGE, min(-(-(offset + count) // PAGE) * PAGE, size)


class Programs(Case):
    def python(self, way, path):
        status, output, errors = self.same_thrice(sys.executable, "-c", READER, way, path, forget=(path,))
        self.assertEqual((status, errors, len(output)), (0, b"", 41))
        return self.extents_of(path)

    def check_whole(self, path):
        at = 0
        for offset, count in self.extents_of(path):
            self.assertEqual(offset, at)
            at += count
        self.assertEqual(at, path.stat().st_size)

    def test_cat(self):
        path = self.file("data", 3_000_001)
        status, output, errors = self.same_thrice("cat", path, forget=(path,))
        self.assertEqual((status, output, errors), (0, path.read_bytes(), b""))
        self.check_whole(path)

    def test_cat_to_a_file_and_from_standard_input(self):
        path = self.file("data", 1_000_000)
        self.same_thrice("sh", "-c", "cat data > copy && cmp data copy && rm copy && cat < data", forget=(path,))
        self.check_whole(path)

    def test_dd_that_skips(self):
        path = self.file("data", 2_000_000)
        dd = ("dd", f"if={path}", "bs=10000", "count=3", "skip=50", "status=none")
        status, output, _ = self.same_thrice(*dd, forget=(path,))
        self.assertEqual((status, output), (0, path.read_bytes()[500000:530000]))
        begin, end = pages(500000, 30000, 2_000_000)
        self.assertEqual(self.extents_of(path), [(begin, end - begin)])

    def test_strides_backward_and_random(self):
        path = self.file("data", 1_500_000)
        wanted = [pages(offset, 10000, 1_500_000) for offset in range(0, 1_500_000, 40960)]
        for way in ("strided", "backward", "random"):
            found = [(offset, offset + count) for offset, count in self.python(way, path)]
            self.assertEqual(sorted(found), wanted, way)
            if way == "strided":
                self.assertEqual(found, wanted)
            elif way == "backward":
                self.assertEqual(found, wanted[::-1])
            else:
                self.assertNotIn(found, (wanted, wanted[::-1]))

    def test_python_with_a_buffer(self):
        path = self.file("data", 900_000)
        self.assertGreater(len(self.python("buffered", path)), 5)

    def test_mapped(self):
        path = self.file("data", 900_000)
        plain = self.run_as_it_is(sys.executable, "-c", READER, "mapped", path)
        status, output, errors = self.observe(sys.executable, "-c", READER, "mapped", path)
        self.assertEqual((status, output), plain[:2])
        self.assertIn(b"were mapped", errors)
        (mapped,) = [file["mapped"] for file in self.plan()["files"] if file["path"] == str(path)]
        self.assertEqual(mapped, [[0, 900_000]])
        self.assertEqual(self.run_with_plan(sys.executable, "-c", READER, "mapped", path), plain)

    def test_a_child(self):
        path = self.file("data", 900_000)
        self.assertEqual(self.python("child", path), [(81920, 8192), (0, 8192)])

    def test_sqlite(self):
        shell = need(self, "sqlite3")
        path = self.folder / "data.db"
        sql = b"""create table t(a integer primary key, b text); create index i on t(b);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
          insert into t select i, 'row ' || (i * 7919 % 30000) from n;"""
        self.assertEqual(self.run_as_it_is(shell, path, stdin=sql)[0], 0)
        query = "select count(*), sum(a) from t where b between 'row 2' and 'row 4';"
        status, output, _ = self.same_thrice(shell, path, query, forget=(path,))
        self.assertEqual((status, output.count(b"|")), (0, 1))
        self.assertTrue(self.extents_of(path))

    def test_streams_of_the_c_library(self):
        path = self.folder / "text"
        path.write_text("".join(f"line {number}\n" for number in range(100_000)))
        for command in (
            ("sort", "-n", path),
            ("grep", "-c", "77", path),
            ("wc", path),
            ("awk", "NR % 1000 == 1", path),
        ):
            self.same_thrice(need(self, command[0]), *command[1:], forget=(path,))
            self.check_whole(path)

    def test_what_a_program_writes_itself_is_not_in_its_plan(self):
        path = self.file("data", 100_000)
        self.observe("sh", "-c", "cat data > made; cat made; cat data > gone; cat gone; rm gone")
        self.assertEqual(
            [file["path"] for file in self.plan()["files"] if str(self.folder) in file["path"]], [str(path)]
        )

    def test_plans_are_shown_and_joined(self):
        path = self.file("data", 900_000)
        self.observe("dd", f"if={path}", "bs=8192", "count=2", "of=/dev/null", "status=none")
        first = self.plan_file.rename(self.folder / "first.json")
        self.observe("dd", f"if={path}", "bs=8192", "skip=1", "count=3", "of=/dev/null", "status=none")
        both = self.folder / "both.json"
        self.assertEqual(self.dovetail("plan", "merge", first, self.plan_file, "-o", both), (0, b"", b""))
        self.plan_file = both
        self.assertEqual(sum(count for _, count in self.extents_of(path)), 4 * 8192)
        picture = self.folder / "picture.png"
        status, output, errors = self.dovetail("plan", "show", both, "--picture", picture)
        self.assertEqual((status, errors), (0, b""))
        self.assertIn(str(path).encode(), output)
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))

    def test_what_cannot_be_seen_is_said(self):
        path = self.file("data", 100_000)
        status, _, errors = self.observe(BUILD / "bin" / "prefetch_static", path)
        self.assertEqual(status, 0)
        self.assertIn(b"is linked statically", errors)
        status, _, errors = self.observe("true")
        self.assertEqual(status, 0)
        self.assertIn(b"nothing to read ahead", errors)
        if os.geteuid() != 0:
            self.skipTest("only root can make a program that runs with another user's rights")
        copy = self.folder / "set-user-id"
        copy.write_bytes((BUILD / "bin" / "prefetch_static").read_bytes())
        os.chown(copy, 1, -1)
        copy.chmod(0o4755)
        self.assertIn(b"rights of another user", self.observe(copy, path)[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
