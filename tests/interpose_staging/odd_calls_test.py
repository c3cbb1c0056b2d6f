"""Calls that a program in Python cannot make."""

import unittest

from support import BUILD, Compared

PROGRAM = BUILD / "bin" / "staging_odd_calls"


class OddCalls(Compared):
    def test_streams_that_get_its_descriptor(self):
        done = self.staged(PROGRAM, "streams", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.file.read_bytes(), bytes(2_000_000) + b"hello other")
        self.assertTrue(self.was_staged())
        self.assertEqual(self.logs(), [])

    def test_children_that_are_made_in_other_ways(self):
        for call in ("clone", "fork"):
            done = self.staged(PROGRAM, call, self.folder / call)
            self.assertEqual(done.returncode, 0, call)
            self.assertEqual((self.folder / call).read_bytes(), b"hello")
            self.assertTrue(self.was_staged())

    def test_a_thread_is_cancelled(self):
        done = self.staged(PROGRAM, "cancel", self.file)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.file.read_bytes()[:100_000], bytes(100_000))
        self.assertTrue(self.was_staged())

    def test_walks_through_folders(self):
        self.assertEqual(self.staged(PROGRAM, "walk", self.file).stdout, b"5000 5000 5000\n")
        self.assertTrue(self.was_staged())

    def test_the_child_of_a_vfork_finds_what_was_written(self):
        done = self.staged(PROGRAM, "vfork", self.file)
        self.assertEqual((done.returncode, done.stdout.split()[:1]), (0, [b"40000000"]), done.stderr)
        self.assertTrue(self.was_staged())

    def test_threads_that_read_all_the_time_keep_nobody_out(self):
        self.assertEqual(self.staged(PROGRAM, "map", self.file).returncode, 0)
        self.assertTrue(self.was_staged())

    def test_a_signal_handler_leaves_a_call(self):
        done = self.staged(PROGRAM, "jump", self.file)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((self.file.read_bytes(), self.logs()), (b"hello", []))
        self.assertTrue(self.was_staged())


if __name__ == "__main__":
    unittest.main()
