"""Names, times, rights, locks and attributes of files that are staged are those that they have without the library."""

import errno
import os
import shutil
import sys
import unittest

from support import BEGINNING, BUILD, Compared


class Attributes(Compared):
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

    def test_the_program_keeps_its_lease(self):
        self.run_both("""
file = opened()
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.write(file, b"x" * 1000)
print(fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK)
""")

    def test_the_program_takes_a_lease_of_a_staged_file(self):
        error = self.run_staged("""
file = opened()
os.write(file, b"x" * 1000)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print(fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK)
os.write(file, b"more")
print(fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK)
""")
        self.assertIn(b"takes a lease", error)

    def test_a_file_whose_openers_the_program_is_signalled_of_is_not_staged(self):
        self.run_both("""
import signal
sets = {
    "signal": lambda file: fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGRTMIN + 3),
    "owner": lambda file: fcntl.fcntl(file, fcntl.F_SETOWN, os.getpid()),
    "flag": lambda file: None,
}
for name, set in sets.items():
    file = opened(path + name, os.O_ASYNC if name == "flag" else 0)
    set(file)
    os.write(file, b"x" * 1000)
    is_owner = fcntl.fcntl(file, fcntl.F_GETOWN) == os.getpid()
    print(name, fcntl.fcntl(file, fcntl.F_GETSIG), is_owner, fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ASYNC)
""")
        self.assertFalse(self.was_staged())

    def test_signals_that_wait_while_a_file_becomes_staged_stay(self):
        self.run_staged("""
import signal
mine = (signal.SIGIO, signal.SIGRTMAX)
signal.pthread_sigmask(signal.SIG_BLOCK, mine)
for each in (signal.SIGIO, signal.SIGRTMAX, signal.SIGRTMAX):
    os.kill(os.getpid(), each)
def write(number):
    file = opened(path + str(number))
    os.write(file, b"x" * 1000)
    print(fcntl.fcntl(file, fcntl.F_GETSIG), fcntl.fcntl(file, fcntl.F_GETOWN))
write(0)
thread = threading.Thread(target=write, args=(1,))
thread.start()
thread.join()
while (taken := signal.sigtimedwait(mine, 0)) is not None:
    print(taken.si_signo, taken.si_code, taken.si_pid == os.getpid())
""")

    def test_nobody_is_signalled_where_another_process_opens_the_file_as_it_becomes_staged(self):
        # Of the second file, the thread that listens for the first one hears.
        program = "for number in '12':\n    os.write(opened(path + number), b'x' * 1000)\nprint(signal.sigpending())"
        environment = self.environment()
        environment["LD_PRELOAD"] += f":{BUILD / 'lib' / 'libstaging_broken_lease.so'}"
        for blocked in ("", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"):
            self.forget_staged()
            words = (sys.executable, "-c", BEGINNING + "import signal\n" + blocked + program, self.file)
            done = self.plain(*words, env=environment)
            self.assertEqual((done.returncode, done.stdout), (0, b"set()\n"), done.stderr)
            self.assertEqual(done.stderr.count(b"the lease is broken"), 2, done.stderr)
            self.assertTrue(self.was_staged())

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
        lock = "fcntl.fcntl({}, fcntl.F_SETLK, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0))\n"
        opened, write = "file = opened()\n", "os.write(file, b'x' * 3000)\n"
        for steps in (
            opened + lock.format("file") + write,
            opened + write + lock.format("file") + write,
            "reader = os.open(path, os.O_RDONLY)\n" + lock.format("reader") + opened + write,
        ):
            self.file.write_bytes(b"")
            content = b"x" * 3000 * steps.count(write)
            words = [sys.executable, "-c", BEGINNING + steps + "print('locked', flush=True)\nsys.stdin.readline()"]
            holder = self.started(*words, self.file, stderr=-1)
            self.assertEqual(holder.stdout.readline(), b"locked\n", steps)
            other = self.plain(sys.executable, "-c", attempt, self.file)
            self.assertIn(b"BlockingIOError", other.stderr, steps)
            holder.communicate(b"\n")
            self.assertEqual((self.file.read_bytes(), self.logs()), (content, []), steps)

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
