"""A file that one process stages and another one opens; children; what is wrong with a configuration; calls that a file is given up for."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import SECONDS, Case

# Threads fill their own parts, and append lines to another file, while both are given up and staged again.
THREADS = """
import mmap, os, subprocess, sys, threading
parts, lines = sys.argv[1:]
def write(number):
    file = os.open(parts, os.O_RDWR)
    log = os.open(lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for step in range(400):
        os.pwrite(file, bytes([number]) * 1000, (step * 4 + number) * 1000)
        os.write(log, b"%d\\n" % number)
        if os.pread(file, 1000, (step * 4 + number) * 1000) != bytes([number]) * 1000:
            os._exit(4)
        if step % 50 == 0:
            os.close(log)
            log = os.open(lines, os.O_WRONLY | os.O_APPEND)
    os.close(log)
    os.close(file)
file = os.open(parts, os.O_RDWR | os.O_CREAT, 0o644)
os.write(file, b"x")
threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
subprocess.run(["true"])
mmap.mmap(file, 1).close()
for thread in threads:
    thread.join()
"""
WRITES = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.write(file, b"first")
print("written", flush=True)
sys.stdin.readline()
os.write(file, b" second")
print("more", flush=True)
sys.stdin.readline()
"""


class Processes(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "file"

    def test_another_process_reads_what_was_written_though_the_file_is_open(self):
        writer = self.started(sys.executable, "-c", WRITES, self.file)
        self.say(writer, b"written\n")
        self.assertEqual(len(self.logs()), 1)
        self.assertEqual(self.file.read_bytes(), b"")
        self.assertEqual(self.staged("cat", self.file).stdout, b"first")
        self.go_on(writer)
        self.say(writer, b"more\n")
        # It is written through from now on.
        self.assertEqual(self.file.read_bytes(), b"first second")
        self.assertEqual(self.logs(), [])

    def with_other_tier(self) -> None:
        other = self.root / "other"
        other.mkdir()
        self.configure(tier=str(other))

    def test_what_is_written_by_way_of_another_tier_is_not_overwritten_by_a_living_program(self):
        writer = self.started(sys.executable, "-c", WRITES, self.file, stderr=subprocess.PIPE)
        self.say(writer, b"written\n")
        self.assertEqual(len(self.logs()), 1)
        self.with_other_tier()
        self.assertIn(
            f"may lack what is staged in {os.uname().nodename}:{self.tier}".encode(),
            self.staged("cat", self.file).stderr,
        )
        done = self.staged("bash", "-c", 'exec 5<>"$0"; echo -n newer >&5', self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"staged of it in {os.uname().nodename}:{self.tier} counts no more".encode(), done.stderr)
        self.go_on(writer)
        _, errors = writer.communicate(b"\n")
        self.assertIn(b"others have opened", errors)
        self.assertEqual(self.file.read_bytes(), b"newer")
        self.assertEqual(len(self.logs()), 1, "nothing is lost")

    def test_what_is_written_by_way_of_another_tier_is_not_overwritten_after_a_kill(self):
        writer = self.started(sys.executable, "-c", WRITES, self.file)
        self.say(writer, b"written\n")
        writer.kill()
        writer.wait()
        self.with_other_tier()
        self.assertEqual(self.staged("dd", "if=/dev/zero", f"of={self.file}", "bs=3", "count=1").returncode, 0)
        self.configure()
        done = self.staged("cat", self.file)
        self.assertEqual(done.stdout, bytes(3), done.stderr)
        self.assertIn(b"--over-newer", done.stderr)
        self.assertEqual(len(self.logs()), 1, "nothing is lost")

    def test_what_another_process_has_open_is_not_staged(self):
        self.file.write_bytes(b"")
        with self.file.open("rb"):
            writer = self.started(sys.executable, "-c", WRITES, self.file)
            self.say(writer, b"written\n")
            self.assertEqual(self.file.read_bytes(), b"first")
            self.assertEqual(self.logs(), [])
            process = Path("/proc", str(writer.pid))
            self.assertEqual(len([*(process / "task").iterdir()]), 1, "it has no thread for it")
            self.assertFalse([each for each in (process / "fd").iterdir() if "inotify" in os.readlink(each)])

    def test_a_file_is_closed_while_another_process_has_it_drained(self):
        # Its own drain comes behind those of two files in another tier. What is freed is written over, and its space is not used at once.
        program = """
import os, sys
files = [os.open(path, os.O_RDWR | os.O_CREAT, 0o644) for path in sys.argv[1:]]
for file in files:
    os.write(file, b"x" * 1_000_000)
print("written", flush=True)
sys.stdin.readline()
for file in files:
    os.close(file)
print("closed", flush=True)
sys.stdin.readline()
"""
        other_tier = self.root / "other"
        other_tier.mkdir()
        others = [self.folder / name for name in ("other0", "other1")]
        group = {"names": [str(self.folder / "other*")], "tier": str(other_tier), "from_bytes": 0}
        usual = json.loads(self.configuration.read_text())["files"]
        self.configuration.write_text(json.dumps({"files": [group, *usual]}))

        fill = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=90"
        writer = self.started("env", fill, sys.executable, "-c", program, *others, self.file, stderr=subprocess.PIPE)
        self.say(writer, b"written\n")
        (log,) = (self.tier / each for each in self.logs())
        # With it, logs are ended: neither the drains of the others end, nor what another process has asked for.
        marks = f".dovetail-{os.geteuid()}.marks.lock"
        held, held_of_others = (os.open(tier / marks, os.O_RDONLY) for tier in (self.tier, other_tier))
        for each in (held, held_of_others):
            fcntl.flock(each, fcntl.LOCK_EX)
        os.utime(log)  # as another process asks for the file
        self.wait_until_it_waits(writer, marks)
        self.go_on(writer)
        self.say(writer, b"closed\n")
        os.close(held)
        while log.exists():
            self.assertIsNone(writer.poll())
        os.close(held_of_others)
        _, errors = writer.communicate(b"\n", timeout=SECONDS)
        self.assertEqual((writer.returncode, self.logs()), (0, []), errors)
        self.assertIn(b"is written through from now on, since another process has opened it", errors)
        self.assertFalse([each for each in other_tier.iterdir() if each.is_dir()])
        for file in (self.file, *others):
            self.assertEqual(file.stat().st_size, 1_000_000)

    def leave(self, megabytes: int) -> None:
        """A killed process has left that of the file."""
        left = "import os,sys;f=os.open(sys.argv[1],os.O_WRONLY|os.O_CREAT)\n"
        left += f"for i in range({megabytes}):os.write(f,b'x'*1000000)\nprint(flush=True);sys.stdin.readline()"
        writer = self.started(sys.executable, "-c", left, self.file)
        self.say(writer, b"\n")
        writer.kill()
        writer.wait()

    def slow_recovery(self, megabytes: int):
        """Of what a killed process has left of the file. It has begun, and does not end by itself."""
        self.leave(megabytes)
        recovery = self.started("env", "DOVETAIL_DRAIN_BANDWIDTH=1", "cat", self.file)
        while self.file.stat().st_size == 0:
            self.assertIsNone(recovery.poll())
        return recovery

    def test_a_recovery_holds_up_no_other_file(self):
        megabytes = 64
        recovery = self.slow_recovery(megabytes)
        other = self.folder / "other"
        done = self.staged(sys.executable, "-c", WRITES, other, input=b"\n\n")
        self.assertEqual((done.returncode, other.read_bytes()), (0, b"first second"), done.stderr)
        self.assertIsNone(recovery.poll())
        recovery.kill()
        recovery.wait()
        self.assertEqual(len(self.staged("cat", self.file).stdout), megabytes * 1_000_000)
        self.assertEqual(self.logs(), [])

    def test_a_log_is_not_recovered_while_an_earlier_one_is(self):
        self.leave(1)
        (log,) = self.logs()
        (self.tier / log).rename(self.tier / f"{log}.1")
        earlier = self.tier / f"{log}.0"
        earlier.mkdir(0o700)
        (earlier / "closed").touch()
        for words in (("cat", self.file), ("rm", self.file)):
            folder = os.open(earlier, os.O_RDONLY)
            fcntl.flock(folder, fcntl.LOCK_EX)
            process = self.started(*words)
            self.wait_until_it_waits(process, earlier.name)
            self.assertEqual((self.file.stat().st_size, len(self.logs())), (0, 2))
            if words[0] == "rm":
                os.close(folder)
                self.assertEqual(process.wait(SECONDS), 0)
            else:
                process.kill()
                process.wait()
                os.close(folder)
        self.assertEqual((self.file.exists(), self.logs()), (False, []))

    def test_a_removal_waits_for_a_recovery(self):
        recovery = self.slow_recovery(32)
        (log,) = self.logs()
        removal = self.started("rm", self.file)
        self.wait_until_it_waits(removal, log)
        recovery.kill()
        recovery.wait()
        self.assertEqual(removal.wait(SECONDS), 0)
        self.assertEqual(self.logs(), [])
        self.assertFalse(self.file.exists())

    def test_what_is_wrong_with_the_rate_of_drains_is_told(self):
        environment = dict(self.environment(), DOVETAIL_DRAIN_BANDWIDTH="fast")
        done = self.plain("true", env=environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"DOVETAIL_DRAIN_BANDWIDTH", done.stderr)

    def test_two_processes_append_at_once(self):
        program = "import os,sys\nfor i in range(300):\n f=os.open(sys.argv[1],os.O_WRONLY|os.O_APPEND|os.O_CREAT,0o644)\n os.write(f,sys.argv[2].encode()+b'\\n')\n i%3 or os.close(f)"
        both = [self.started(sys.executable, "-c", program, self.file, word) for word in ("one", "other")]
        for each in both:
            each.communicate()
            self.assertEqual(each.returncode, 0)
        lines = self.file.read_bytes().splitlines()
        self.assertEqual((lines.count(b"one"), lines.count(b"other"), len(lines)), (300, 300, 600))

    def test_threads_write_while_a_file_is_given_up(self):
        lines = self.folder / "lines"
        done = self.staged(sys.executable, "-c", THREADS, self.file, lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.file.read_bytes(), b"".join(bytes([number]) * 1000 for number in range(4)) * 400)
        self.assertEqual(sorted(lines.read_bytes().split()), sorted([b"0", b"1", b"2", b"3"] * 400))

    def test_children_write_and_programs_follow(self):
        program = """
import os, subprocess, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.set_inheritable(file, True)
os.write(file, b"a\\n")
child = os.fork()
if child == 0:
    os.write(file, b"b\\n")
    os._exit(0)
os.waitpid(child, 0)
os.write(file, b"c\\n")
subprocess.run(["sh", "-c", f"echo d >&{file}"], pass_fds=[file])
os.execlp("sh", "sh", "-c", f"echo e >&{file}")
"""
        done = self.staged(sys.executable, "-c", program, self.file)
        self.assertEqual((done.returncode, self.was_staged()), (0, True), done.stderr)
        self.assertEqual(self.file.read_bytes(), b"a\nb\nc\nd\ne\n")

    def test_it_is_told_once_why_a_file_is_given_up(self):
        program = f"""
import mmap
file = open({str(self.file)!r}, "w+b", buffering=0)
file.write(b"x" * 5000)
for offset in range(3):
    memory = mmap.mmap(file.fileno(), 5000)
    memory[offset] = 97 + offset
    memory.close()
file.write(b"y")
"""
        done = self.staged(sys.executable, "-c", program)
        self.assertEqual(
            done.stderr.decode().splitlines(),
            [f"dovetail: {self.file} is written through from now on, since it was mapped (mmap)"],
        )
        self.assertEqual(self.file.read_bytes(), b"abc" + b"x" * 4997 + b"y")

    def test_a_file_that_was_closed_is_drained_when_the_program_ends(self):
        for end in ("os._exit(0)", "sys.exit(0)", "os.execlp('true', 'true')"):
            program = f"import os, sys\nfile = os.open({str(self.file)!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\nos.write(file, b'z' * 9_000_000)\nos.close(file)\n{end}"
            self.assertEqual(self.staged(sys.executable, "-c", program).returncode, 0)
            self.assertEqual(self.file.read_bytes(), b"z" * 9_000_000, end)
            self.assertEqual(self.logs(), [], end)

    def test_times_are_those_of_the_program(self):
        program = f"""
import os
file = os.open({str(self.file)!r}, os.O_WRONLY | os.O_CREAT)
os.write(file, b"x" * 1000)
os.utime(file, ns=(10**18, 10**18 + 12345))
os.close(file)
"""
        self.assertEqual(self.staged(sys.executable, "-c", program).returncode, 0)
        self.assertEqual(self.file.stat().st_mtime_ns, 10**18 + 12345)
        self.assertTrue(self.was_staged())

    def test_a_folder_is_renamed_and_another_file_gets_the_name(self):
        program = f"""
import os
os.chdir({str(self.folder)!r})
os.mkdir("a")
first = os.open("a/file", os.O_WRONLY | os.O_CREAT)
late = os.open("a/late", os.O_WRONLY | os.O_CREAT)
os.write(first, b"first")
os.rename("a", "b")
os.mkdir("a")
for name in ("a/file", "a/late"):
    with open(name, "wb", buffering=0) as other:
        other.write(b"other")
os.write(first, b" more")
os.write(late, b"late")
"""
        done = self.staged(sys.executable, "-c", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.glob("*/*")}
        self.assertEqual(found, {"a/file": b"other", "a/late": b"other", "b/file": b"first more", "b/late": b"late"})
        self.assertEqual(self.logs(), [])

    def test_others_give_the_name_to_another_file_before_the_first_write(self):
        program = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print("opened", flush=True)
sys.stdin.readline()
os.write(file, b"late")
"""
        writer = self.started(sys.executable, "-c", program, self.file)
        self.say(writer, b"opened\n")
        self.file.rename(self.folder / "moved")
        self.file.write_bytes(b"other")
        writer.communicate(b"\n")
        self.assertEqual(writer.returncode, 0)
        self.assertEqual((self.file.read_bytes(), (self.folder / "moved").read_bytes()), (b"other", b"late"))

    def test_a_removed_file_leaves_no_log(self):
        program = f"""
import os
for number in range(5):
    file = os.open({str(self.file)!r}, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(file, b"x" * 1000)
    if number % 2:
        os.close(file)
    os.unlink({str(self.file)!r})
"""
        done = self.staged(sys.executable, "-c", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.logs(), self.file.exists()), ([], False))

    def test_links_lead_to_files_of_other_names(self):
        self.configure(names=["*.checkpoint"])
        file, link = self.folder / "a.checkpoint", self.folder / "latest"
        link.symlink_to(file)
        writer = self.started(sys.executable, "-c", WRITES, file)
        self.say(writer, b"written\n")
        self.assertEqual(self.staged("cat", link).stdout, b"first")
        writer.kill()
        writer.wait()
        for empty in (
            "os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)",
            "ctypes.CDLL(None).fopen(sys.argv[1].encode(), b'w')",
        ):
            self.forget_staged()
            killed = f"import os\nos.write(os.open({str(file)!r}, os.O_RDWR), b'old')\nos.kill(os.getpid(), 9)"
            self.staged(sys.executable, "-c", killed)
            self.assertEqual(len(self.logs()), 1)
            self.assertEqual(self.staged(sys.executable, "-c", f"import ctypes, os, sys\n{empty}", link).returncode, 0)
            self.assertEqual((file.read_bytes(), self.logs()), (b"", []), empty)

    def test_a_stream_reads_what_another_process_stages(self):
        writer = self.started(sys.executable, "-c", WRITES, self.file)
        self.say(writer, b"written\n")
        program = """
import ctypes, sys
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
library.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
data = ctypes.create_string_buffer(10)
print(library.fread(data, 1, 10, library.fopen(sys.argv[1].encode(), b"r")))
"""
        self.assertEqual(self.staged(sys.executable, "-c", program, self.file).stdout, b"5\n")

    def test_a_file_is_removed_and_made_again_while_another_process_writes_the_first(self):
        writer = self.started(sys.executable, "-c", WRITES, self.file, stderr=-1)
        self.say(writer, b"written\n")
        self.assertEqual(self.staged("rm", self.file).returncode, 0)
        new = f"import os\nfile = os.open({str(self.file)!r}, os.O_RDWR | os.O_CREAT)\nos.write(file, b'new')"
        self.assertEqual(self.staged(sys.executable, "-c", new).returncode, 0)
        self.go_on(writer)
        self.say(writer, b"more\n")
        error = writer.communicate(b"\n")[1]
        self.assertEqual((writer.returncode, self.file.read_bytes(), self.logs()), (0, b"new", []), error)
        self.assertNotIn(b"another process has opened it", error)

    def test_a_child_reads_a_file_that_another_process_has_removed(self):
        program = f"""
import os, sys
file = os.open({str(self.file)!r}, os.O_RDWR | os.O_CREAT)
os.write(file, b"staged")
print("written", flush=True)
sys.stdin.readline()
child = os.fork()
os.write(1, os.pread(file, 10, 0) + b"\\n")
child or os._exit(0)
os.waitpid(child, 0)
"""
        writer = self.started(sys.executable, "-c", program, stderr=-1)
        self.say(writer, b"written\n")
        self.file.unlink()
        output, error = writer.communicate(b"\n")
        self.assertEqual((output, self.logs()), (b"staged\n" * 2, []), error)

    def test_a_file_that_a_killed_program_has_left_is_removed(self):
        program = f"import os\nos.write(os.open({str(self.file)!r}, os.O_RDWR | os.O_CREAT), b'x' * 1000)\n"
        self.staged(sys.executable, "-c", program + "os.kill(os.getpid(), 9)")
        self.assertEqual(len(self.logs()), 1)
        self.assertEqual(self.staged("rm", self.file).returncode, 0)
        self.assertEqual(self.logs(), [])

    def test_a_log_that_was_left_alone_keeps_no_file_from_the_tier(self):
        write = f"import os\nos.write(os.open({str(self.file)!r}, os.O_RDWR | os.O_CREAT), b'new')\n"
        self.staged(sys.executable, "-c", write + "os.kill(os.getpid(), 9)")
        (left,) = self.logs()
        self.file.unlink()  # without the library
        self.file.write_bytes(b"other")
        self.forget_staged()
        done = self.staged(sys.executable, "-c", write)
        self.assertEqual((done.returncode, self.was_staged()), (0, True), done.stderr)
        self.assertIn(f"{left} has what was written to an earlier file", done.stderr.decode())
        self.assertEqual((self.file.read_bytes(), self.logs()), (b"newer", [left]))

    def test_a_file_is_written_through_where_others_could_not_ask_for_it(self):
        none = "echo 0 > /proc/sys/user/max_inotify_instances"
        if self.plain("unshare", "-Ur", "sh", "-c", none).returncode != 0:
            self.skipTest("there are no name spaces of users, or no limit in them")
        write = f"import os; os.write(os.open('{self.file}', os.O_RDWR | os.O_CREAT), b'x' * 1000); print('written', flush=True); input()"
        words = ["unshare", "-Ur", "sh", "-c", f'{none}; exec {sys.executable} -c "{write}"']
        writer = self.started(*words, stderr=-1)
        self.say(writer, b"written\n")
        self.assertEqual(self.file.read_bytes(), b"x" * 1000)
        self.assertIn(b"other processes could not ask for it", writer.communicate(b"\n")[1])
        self.assertEqual(self.logs(), [])

    def test_threads_that_write_while_the_program_ends(self):
        program = f"""
import os, sys, threading
def write(number):
    for step in range(1 << 40):
        file = os.open(f"{self.folder}/{{number}}.{{step % 5}}", os.O_RDWR | os.O_CREAT)
        os.write(file, b"x" * 10_000)
        os.close(file)
        begun.set()
begun = threading.Event()
for number in range(3):
    threading.Thread(target=write, args=(number,), daemon=True).start()
begun.wait()
"""
        for end in ("os._exit(0)", "sys.exit(0)"):
            done = self.staged(sys.executable, "-c", program + end)
            self.assertEqual((done.returncode, self.was_staged(), self.logs()), (0, True, []), done.stderr)
            for each in self.folder.iterdir():
                self.assertIn(each.read_bytes(), (b"", b"x" * 10_000))

    def test_a_tier_that_cannot_be_used(self):
        source = self.root / "source"
        source.write_bytes(bytes(3000))
        self.tier.chmod(0o555)
        if os.geteuid() == 0:
            shutil.rmtree(self.tier)
            os.symlink("/proc", self.tier)  # in which nobody makes a folder
            self.configure(tier="/proc")
        done = self.staged("cp", source, self.file)
        self.assertEqual(done.returncode, 0)
        self.assertIn("is written through, since it cannot be staged", done.stderr.decode())
        self.assertEqual(self.file.read_bytes(), bytes(3000))

    def test_a_configuration_with_a_mistake_ends_the_program(self):
        for text, expected in (
            ("{", "it is no JSON"),
            ('{"files": [{"names": ["a/b"], "tier": "/tmp"}]}', "files[0].names[0]: a name with a slash"),
            ('{"files": [{"names": ["a"], "tier": "/not/there"}]}', 'files[0].tier: "/not/there" must be'),
            ('{"files": [{"names": ["a"]}]}', 'files[0]: the key "tier" is missing'),
            ('{"files": [{"names": ["a"], "tier": "/tmp", "size": 1}]}', 'the key "size" is not known'),
            ('{"files": [{"names": ["a"], "tier": "/tmp", "from_bytes": -1}]}', "files[0].from_bytes"),
        ):
            self.configuration.write_text(text)
            done = self.staged("true")
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(expected, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
