"""Calls that are easily forgotten: what a program sees of each is what it sees without the library."""

import errno
import os
import pathlib
import resource
import signal
import subprocess
import sys
import unittest

from support import BEGINNING, Compared


class Calls(Compared):
    def left_log(self) -> str:
        """That of a program that was killed."""
        program = BEGINNING + "os.write(opened(), b'x' * 1000); os.kill(os.getpid(), 9)"
        self.assertEqual(self.staged(sys.executable, "-c", program, self.file).returncode, -signal.SIGKILL)
        (log,) = self.logs()
        return log

    def test_statx_without_a_place_for_its_result(self):
        self.run_both("print(library.statx(0, None, 0, 0xfff, None), ctypes.get_errno())")

    def test_an_opening_that_fails_has_its_errno(self):
        placement = self.tier / self.left_log() / "placement"
        placement.write_bytes(placement.read_bytes()[:-1])
        program = "try:\n opened(flags=os.O_TRUNC)\nexcept OSError as error:\n print(error.errno)"
        for flags in ("", "flags=os.O_TRUNC"):
            done = self.staged(sys.executable, "-c", BEGINNING + program.replace("flags=os.O_TRUNC", flags), self.file)
            self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % errno.EBADMSG), done.stderr)
            self.assertIn(b"cannot be brought into it", done.stderr)

    def test_an_opening_while_the_name_is_removed(self):
        remove = "import os, sys\nwhile True:\n try:\n  os.unlink(sys.argv[1])\n except FileNotFoundError:\n  pass"
        self.started(sys.executable, "-c", remove, self.file)
        opening = BEGINNING + "for number in range(5000):\n os.close(opened())"
        done = self.staged(sys.executable, "-c", opening, self.file)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_thread_gives_a_file_up_while_another_one_closes_it(self):
        for _ in range(3):
            self.run_staged("""
for number in range(3):
    file = opened()
    os.pwrite(file, b"x" * 30_000_000, number * 1000)
    os.close(file)
    file = opened()
    both = threading.Barrier(2)
    giving = threading.Thread(target=lambda: both.wait() < 0 or library.mmap(None, 1000, 1, 1, file, ctypes.c_long(0)))
    closing = threading.Thread(target=lambda: both.wait() < 0 or library.close(file))
    giving.start()
    closing.start()
    closing.join()
    giving.join()
    os.truncate(path, 20_000_000)
""")

    def test_a_child_empties_a_file_that_was_closed(self):
        self.run_staged("""
file = opened()
os.write(file, b"x" * 20_000_000)
os.close(file)
actions = [(os.POSIX_SPAWN_OPEN, 1, path, os.O_WRONLY | os.O_TRUNC, 0o644)]
print(os.waitpid(os.posix_spawn("/bin/echo", ["echo", "hi"], dict(os.environ), file_actions=actions), 0)[1])
""")
        self.assertEqual(self.file.read_bytes(), b"hi\n")

    def test_the_first_three_descriptors_are_not_staged(self):
        self.run_both("""
os.close(1)
assert opened(flags=os.O_APPEND) == 1
os.write(1, b"x" * 3000)
library.printf(b"hello")
library.fflush(None)
""")
        self.assertEqual(self.file.read_bytes(), b"x" * 3000 + b"hello")

    def test_the_numbers_of_descriptors_are_those_without_the_library(self):
        # A thread that drains behind a close has a descriptor of its own for an instant, in one run of thirty just when the program opens a file.
        for left in reversed(range(5)):
            try:
                self.run_staged("""
os.close(0)
file = opened()
print(file)
files = [opened(f"{path}{number}") for number in range(3)]
for each in files:
    os.write(each, b"x" * 1000)
os.close(files[1])
os.fsync(files[0])
print(files, [opened(f"{path}{number}") for number in range(3, 6)])
for each in files[::2]:
    os.close(each)
""")
                break
            except AssertionError:
                if left == 0:
                    raise

    def test_all_other_descriptors_are_closed(self):
        self.run_staged("""
file = fcntl.fcntl(opened(), fcntl.F_DUPFD, 100)
os.write(file, b"x" * 1000)
print(library.close_range(101, 0xffffffff, 0))
for number in range(3, 4096):
    if number != file:
        library.close(number)
mine = [os.open("/dev/null", os.O_RDONLY) for number in range(200)]
os.write(file, b"y" * 1000)
os.close(file)
print(all(os.fstat(each) for each in mine), mine == [*range(3, 203)])
""")
        self.assertEqual(self.file.read_bytes(), b"x" * 1000 + b"y" * 1000)

    def test_flags_of_a_file_that_gets_a_name(self):
        self.run_staged("""
name = ctypes.create_string_buffer(path.encode() + b"XXXXXX")
file = library.mkostemp(name, os.O_APPEND)
os.write(file, b"one")
os.lseek(file, 0, os.SEEK_SET)
os.write(file, b"two")
print(os.pread(file, 10, 0))
""")

    def test_system_calls_by_number(self):
        self.run_staged("""
file = opened()
os.write(file, b"x" * 1000)
number = 257 if os.uname().machine == "x86_64" else 56
again = library.syscall(number, -100, path.encode(), os.O_RDONLY)
print(len(os.pread(again, 5000, 0)))
""")

    def test_system_calls_by_number_are_about_their_descriptors(self):
        error = self.run_staged("""
null = os.open("/dev/null", os.O_WRONLY)
file = opened()
os.write(file, b"x" * 1000)
print(library.syscall(1 if os.uname().machine == "x86_64" else 64, null, b"y" * 9, file))
""")
        self.assertEqual(error, b"")

    def test_descriptors_that_are_sent(self):
        self.run_staged("""
reader = ("import os,socket,sys\\nfd = socket.recv_fds(socket.socket(fileno=int(sys.argv[1])), 1, 1)[1][0]\\n"
          "print(len(os.pread(fd, 5000, 0)), flush=True)")
ours, theirs = socket.socketpair()
environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
words = [sys.executable, "-c", reader, str(theirs.fileno())]
child = subprocess.Popen(words, pass_fds=[theirs.fileno()], env=environment)
file = opened()
os.write(file, b"x" * 1000)
socket.send_fds(ours, [b"x"], [file])
print(child.wait())
""")

    def test_threads_append_while_a_file_becomes_staged(self):
        self.configure(from_bytes=5000)
        self.run_staged("""
for number in range(150):
    file = opened(f"{path}{number}", os.O_APPEND)
    def append():
        for line in range(100):
            os.write(file, b"x" * 99 + b"\\n")
    threads = [threading.Thread(target=append) for each in range(2)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    print(len(os.pread(file, 100_000, 0).split()))
    os.close(file)
""")

    def test_what_the_system_copies_and_flags_that_are_not_known(self):
        self.run_both("""
file = opened()
os.write(file, b"x" * 1000)
zeros = os.open("/dev/zero", os.O_RDONLY)
try:
    print(os.sendfile(file, zeros, 0, 5000))
except OSError as error:
    print(error.errno)
for flag in (0x20, 0x80):
    try:
        print(os.pwritev(file, [b"z" * 10], 100, flag))
    except OSError as error:
        print(error.errno)
print(os.pread(file, 10_000, 0))
""")

    def test_the_end_by_quick_exit(self):
        self.run_staged("file = opened()\nos.write(file, b'x' * 1000)\nos.close(file)\nlibrary.quick_exit(0)")

    def test_addresses_where_nothing_is(self):
        self.run_staged("""
file = opened()
os.write(file, b"x" * 9000)
library.write.argtypes = library.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
os.lseek(file, 0, os.SEEK_SET)
for call in (library.write, library.read):
    print(call(file, None, 1000), ctypes.get_errno(), os.lseek(file, 0, os.SEEK_CUR))
memory = ctypes.create_string_buffer(5000)
print(library.read(file, memory, 5000), library.read(file, memory, 1 << 40), library.read(file, memory, 0))
print(os.pread(file, 10_000, 0))
""")

    def test_a_descriptor_with_a_very_high_number(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 70_000:
            self.skipTest("the limit of descriptors is lower")
        self.run_staged("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (70_000, 70_000))
file = opened()
os.write(file, b"x" * 1000)
high = fcntl.fcntl(file, fcntl.F_DUPFD, 66_000)
os.write(high, b"y" * 1000)
os.write(file, b"z" * 1000)
print(high, os.pread(high, 5000, 0))
os.close(high)
""")

    def test_what_is_told_goes_nowhere_but_to_standard_error(self):
        self.run_both("""
import mmap
os.close(2)
assert opened(path + "2") == 2
file = opened()
os.write(file, b"x" * 5000)
mmap.mmap(file, 5000).close()
""")
        self.assertEqual((self.folder / "file2").read_bytes(), b"")
        program = (
            "import mmap\nfile = opened()\nos.write(file, b'x' * 5000)\nmmap.mmap(file, 5000).close()\nprint('whole')"
        )
        reader, writer = os.pipe()
        os.close(reader)
        words = [sys.executable, "-c", BEGINNING + program, self.file]
        done = subprocess.run(words, env=self.environment(), stdout=-1, stderr=writer, check=False)
        os.close(writer)
        self.assertEqual((done.returncode, done.stdout), (0, b"whole\n"))

    def test_a_library_that_was_written_is_loaded(self):
        source = next(iter(pathlib.Path("/usr/lib").glob("*-linux-gnu/libm.so.6")), None)
        if source is None:
            self.skipTest("there is no library to copy")
        self.run_staged(f"""
file = opened(path + ".so")
os.write(file, open({str(source)!r}, "rb").read())
os.close(file)
loaded = ctypes.CDLL(path + ".so")
loaded.cos.restype = ctypes.c_double
loaded.cos.argtypes = [ctypes.c_double]
print(loaded.cos(0.0))
""")

    def test_large_copies_by_one_call(self):
        self.run_staged("""
file = opened()
os.write(file, b"x" * 5_000_000)
other = opened(path + "2")
print(os.sendfile(other, file, 0, 5_000_000), os.copy_file_range(file, other, 6_000_000, 0))
""")

    def test_a_child_has_no_descriptors_of_the_library(self):
        self.run_staged("""
file = opened()
os.write(file, b"x" * 1000)
child = os.fork()
if child == 0:
    print([number for number in os.listdir("/proc/self/fd") if int(number) > 500], flush=True)
    os._exit(0)
os.waitpid(child, 0)
""")


if __name__ == "__main__":
    unittest.main()
