"""Calls that are easily forgotten: what a program sees of each is what it sees without the library."""

import errno
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from support import BUILD, Case

PROGRAM = BUILD / "bin" / "staging_odd_calls"
BEGINNING = """
import ctypes, errno, fcntl, os, socket, struct, subprocess, sys, threading
library = ctypes.CDLL(None, use_errno=True)
path = sys.argv[1]
def opened(name=path, flags=0):
    return os.open(name, os.O_RDWR | os.O_CREAT | flags, 0o644)
"""


class Calls(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "file"

    def run_both(self, program: str) -> bytes:
        """What it prints with the library, which is what it prints without."""
        words = (sys.executable, "-c", BEGINNING + program, self.file)
        plain = self.plain(*words)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        content = self.file.read_bytes() if self.file.exists() else None
        for each in self.folder.iterdir():
            each.unlink()
        self.forget_staged()
        done = self.staged(*words)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.assertEqual(self.file.read_bytes() if self.file.exists() else None, content, done.stderr)
        self.assertEqual(self.logs(), [])
        return done.stderr

    def run_staged(self, program: str) -> bytes:
        error = self.run_both(program)
        self.assertTrue(self.was_staged(), error)
        return error

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

    def test_streams_that_get_its_descriptor(self):
        done = self.staged(PROGRAM, "streams", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.file.read_bytes(), bytes(2_000_000) + b"hello other")
        self.assertTrue(self.was_staged())
        self.assertEqual(self.logs(), [])

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

    def test_locks_stay_when_a_file_is_opened_again_at_once(self):
        attempt = "import fcntl,os,sys\nfcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        self.run_staged(f"""
environment = {{name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}}
for number in range(10):
    file = opened()
    os.write(file, b"x" * 1000)
    os.close(file)
    file = opened()
    fcntl.lockf(file, fcntl.LOCK_EX)
    done = subprocess.run([sys.executable, "-c", {attempt!r}, path], env=environment, capture_output=True)
    print(b"BlockingIOError" in done.stderr)
    os.close(file)
""")

    def test_another_name_of_a_file(self):
        self.file.write_bytes(b"")
        os.link(self.file, self.folder / "other")
        program = "os.write(opened(), b'first')\nprint('written', flush=True)\nsys.stdin.readline()"
        writer = self.started(sys.executable, "-c", BEGINNING + program, self.file)
        self.assertEqual(writer.stdout.readline(), b"written\n")
        self.assertEqual(self.staged("cat", self.folder / "other").stdout, b"first")

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

    def test_children_that_are_made_in_other_ways(self):
        for call in ("clone", "fork"):
            done = self.staged(PROGRAM, call, self.folder / call)
            self.assertEqual(done.returncode, 0, call)
            self.assertEqual((self.folder / call).read_bytes(), b"hello")
            self.assertTrue(self.was_staged())

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

    def test_a_thread_is_cancelled(self):
        done = self.staged(PROGRAM, "cancel", self.file)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.file.read_bytes()[:100_000], bytes(100_000))
        self.assertTrue(self.was_staged())

    def test_rights_that_a_write_takes_away(self):
        self.run_staged("""
for kind in ("mode", "attribute"):
    name = path + kind
    file = opened(name)
    os.write(file, b"x" * 1000)
    try:
        if kind == "mode":
            os.fchmod(file, 0o4755)
        else:
            os.setxattr(file, "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
    except OSError as error:
        print(error.errno)
    os.close(file)
    os.rename(name, name + "2")  # drained
    name += "2"
    print(oct(os.stat(name).st_mode), [each for each in os.listxattr(name) if each.startswith("security.cap")])
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

    def test_the_program_keeps_its_lease(self):
        self.run_both("""
file = opened()
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.write(file, b"x" * 1000)
print(fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK)
""")

    def test_the_end_by_quick_exit(self):
        self.run_staged("file = opened()\nos.write(file, b'x' * 1000)\nos.close(file)\nlibrary.quick_exit(0)")

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

    def test_a_rename_fails_where_the_drain_fails(self):
        (self.folder / "good").write_bytes(b"good")
        program = """
import resource
file = opened()
os.write(file, b"x" * 5000)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
os.close(file)
for call in (os.rename, os.link):
    try:
        call(path, os.path.dirname(path) + "/good")
    except OSError as error:
        print(error.errno)
"""
        done = self.staged(sys.executable, "-c", BEGINNING + program, self.file)
        self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % errno.EFBIG * 2), done.stderr)
        self.assertEqual((self.folder / "good").read_bytes(), b"good")
        self.assertEqual(self.staged("cat", self.file).stdout, b"x" * 5000)

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

    def test_other_rights_and_another_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root may change its rights")
        self.root.chmod(0o755)
        for change in ("os.setresuid(65534, 65534, 65534)", "os.chroot('/proc')", "os.setgid(65534)"):
            self.run_staged(f"""
file = opened()
late = opened(path + "2")
os.write(file, b"x" * 1000)
{change}
os.write(file, b"y" * 1000)
os.fsync(file)
os.write(late, b"z" * 1000)
""")

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

    def test_times_and_blocks(self):
        self.run_staged("""
import time
before = time.time() - 5
file = opened()
os.write(file, b"x" * 100_000)
os.utime(file, (1000, 1000))
status = os.fstat(file)
print(status.st_mtime, status.st_ctime > before)
os.ftruncate(file, 1 << 40)
print(os.fstat(file).st_blocks < 10_000)
os.ftruncate(file, 0)
print(os.fstat(file).st_blocks)
""")

    def test_folders_that_are_exchanged(self):
        self.run_staged("""
folder = os.path.dirname(path)
os.mkdir(folder + "/d")
os.mkdir(folder + "/e")
file, other = opened(folder + "/d/x"), opened()
os.write(file, b"x" * 1000)
os.write(other, b"y" * 1000)
print(library.renameat2(-100, (folder + "/e").encode(), -100, (folder + "/d").encode(), 2))
os.write(file, b"z")
os.fsync(file)
print(open(folder + "/e/x").read())
os.unlink(folder + "/e/x")
os.rmdir(folder + "/d")
os.rmdir(folder + "/e")
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

    def test_names_that_patterns_match(self):
        for pattern, matching, others in (
            ("*.check", ["a.check", ".check"], ["check", "a.checks"]),
            ("run-?.[ch]k", ["run-1.ck", "run-2.hk"], ["run-.ck", "run-12.ck", "run-1.kk"]),
            ("a\\*[]]", ["a*]"], ["a1]", "ab"]),
            (f"{self.folder}/sub*/x*", ["sub1/x", "sub/xy"], ["x", "sub/yx"]),
        ):
            self.configure(names=[pattern])
            for name in (*matching, *others):
                (self.folder / name).parent.mkdir(exist_ok=True)
                self.forget_staged()
                done = self.staged(sys.executable, "-c", BEGINNING + "os.write(opened(), b'x')", self.folder / name)
                self.assertEqual((done.returncode, self.was_staged()), (0, name in matching), (pattern, name))

    def test_locks_of_parts_stay_though_the_file_is_written(self):
        attempt = "import fcntl,os,sys\nfcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        for first in ("opened()", "os.open(path, os.O_RDONLY)"):
            self.file.write_bytes(b"")
            self.run_both(f"""
environment = {{name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}}
file = opened()
os.write(opened(path + "2"), b"staged")
locked = {first}
fcntl.fcntl(locked, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))
os.write(file, b"x" * 3000)
done = subprocess.run([sys.executable, "-c", {attempt!r}, path], env=environment, capture_output=True)
print(b"BlockingIOError" in done.stderr)
""")

    def test_all_attributes_of_a_staged_file_are_copied(self):
        source = f"""
file = opened({str(self.folder / "first")!r})
os.write(file, b"x" * 1000)
os.setxattr(file, "user.own", b"1")
os.close(file)
os.rename({str(self.folder / "first")!r}, {str(self.folder / "first")!r} + "2")
print(os.listxattr({str(self.folder / "first")!r} + "2"))
"""
        for copy in (
            "import shutil\nshutil.copy2(path + '2', path)",
            "subprocess.run(['cp', '-a', path + '2', path], check=True)",
            "subprocess.run(['mv', path + '2', path], check=True)",
        ):
            self.run_staged(
                source.replace(str(self.folder / "first"), str(self.file)) + copy + "\nprint(os.listxattr(path))"
            )
            self.assertEqual(self.file.read_bytes(), b"x" * 1000)
            self.file.unlink()
            (self.folder / "file2").unlink(missing_ok=True)
        if shutil.which("rsync") is not None:
            self.run_staged(
                source.replace(str(self.folder / "first"), str(self.file))
                + "subprocess.run(['rsync', '-aX', path + '2', path], check=True)"
            )


if __name__ == "__main__":
    unittest.main()
