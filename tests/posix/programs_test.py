"""Programs that know nothing of Dovetail do under LD_PRELOAD exactly what they do without it."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
LIBRARY = BUILD / "lib" / "libdovetail-posix.so"

PYTHON = r"""
import hashlib, os, pickle, shutil, sqlite3, subprocess, sys, tempfile, threading, zipfile
from pathlib import Path

folder = Path(sys.argv[1])
data = bytes(range(256)) * 4096
(folder / "data").write_bytes(data)
with open(folder / "data", "r+b", buffering=0) as file:
    print(file.read(10), os.pread(file.fileno(), 5, 1000), os.pwrite(file.fileno(), b"xyz", 7), file.tell())
    print(os.preadv(file.fileno(), [bytearray(3), bytearray(4)], 9), os.writev(file.fileno(), [b"ab", b"cd"]))
    os.fsync(file.fileno()), os.fdatasync(file.fileno())
print(hashlib.sha256((folder / "data").read_bytes()).hexdigest())
def work(number):
    for turn in range(50):
        with open(folder / f"thread{number}", "a") as file:
            print(turn, number * turn, file=file)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print([hashlib.sha256((folder / f"thread{number}").read_bytes()).hexdigest()[:8] for number in range(8)])
with zipfile.ZipFile(folder / "zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("inside", data)
print(zipfile.ZipFile(folder / "zip").testzip(), len(zipfile.ZipFile(folder / "zip").read("inside")))
database = sqlite3.connect(folder / "python.db")
database.execute("create table t(a, b)")
with database:
    database.executemany("insert into t values (?, ?)", ((i, str(i) * 20) for i in range(5000)))
print(database.execute("select sum(a), sum(length(b)) from t").fetchone())
print(subprocess.run(["sh", "-c", "cat; exit 4"], input=b"through", capture_output=True))
try:
    subprocess.run(["/does/not/exist"])
except OSError as error:
    print(error)
if (child := os.fork()) == 0:
    os.write(1, b"child\n")
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    os.read(9999, 1)
except OSError as error:
    print(error.errno)
"""

SQL = """
pragma journal_mode = {mode};
create table t(id integer primary key, a text, b blob);
create index by_a on t(a);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i, 'row ' || (i * 7919 % 20000), zeroblob(i % 300) from n;
begin; update t set a = a || '!' where id % 3 = 0; rollback;
begin; delete from t where id % 5 = 0; commit;
vacuum;
select count(*), sum(id), sum(length(a)), sum(length(b)) from t;
select a from t order by a limit 5;
pragma integrity_check;
"""


def text_of(data: bytes, folder: Path) -> bytes:
    """What may differ between two runs of one program: the folder."""
    return data.replace(str(folder).encode(), b"FOLDER")


class Programs(unittest.TestCase):
    def setUp(self):
        self.folders = []

    def run_in(self, preload: bool, *command: object, folder: Path, stdin: bytes = b"", **more: str):
        environment = dict(os.environ, LC_ALL="C", TZ="UTC", HOME=str(folder), **more)
        if preload:
            environment["LD_PRELOAD"] = str(LIBRARY)
        done = hangs.run(
            [str(word) for word in command], cwd=folder, env=environment, input=stdin, timeout=120, text=False
        )
        return done.returncode, text_of(done.stdout, folder), text_of(done.stderr, folder)

    def folder(self) -> Path:
        made = Path(tempfile.mkdtemp(prefix="posix-test-", dir=BUILD))
        self.addCleanup(shutil.rmtree, made, ignore_errors=True)
        return made

    def both(self, work):
        """What `work(preload, folder)` gives, which must be the same with and without."""
        without = work(False, self.folder())
        with_it = work(True, self.folder())
        self.assertEqual(with_it, without)
        return without

    def need(self, program: str) -> str:
        found = shutil.which(program)
        if found is None:
            self.skipTest(f"{program} is not installed")
        return found

    def test_the_library_is_loaded(self):
        status, output, errors = self.run_in(True, "cat", "/proc/self/maps", folder=self.folder())
        self.assertEqual(status, 0, errors)
        self.assertIn(b"libdovetail-posix.so", output)
        self.assertNotIn(b"libdovetail.so", output, "it must not bring the runtime into foreign programs")
        status, output, _ = self.run_in(True, "cat", "/proc/self/status", folder=self.folder())
        self.assertIn(b"Threads:\t1\n", output)

    def test_python(self):
        status, output, errors = self.both(
            lambda preload, folder: self.run_in(preload, sys.executable, "-c", PYTHON, folder, folder=folder)
        )
        self.assertEqual(status, 0, errors)
        self.assertEqual(len(output.splitlines()), 11)

    def test_sqlite(self):
        shell = self.need("sqlite3")
        for mode in ("delete", "wal"):

            def work(preload, folder, mode=mode):
                sql = SQL.format(mode=mode).encode()
                first = self.run_in(preload, shell, "test.db", folder=folder, stdin=sql)
                # What it wrote is read by the other kind.
                again = self.run_in(not preload, shell, "test.db", ".dump", folder=folder)
                return first, hashlib.sha256(again[1]).hexdigest(), again[0]

            (status, output, errors), _, second = self.both(work)
            self.assertEqual((status, second), (0, 0), errors)
            self.assertTrue(output.endswith(b"\nok\n"), output)

    def test_git(self):
        git = self.need("git")

        def work(preload, folder):
            stamp = {
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "A"), ("EMAIL", "a@b.c"), ("DATE", "2000-01-01T00:00:00Z"))
            }
            results = []

            def run(*words):
                status, output, errors = self.run_in(
                    preload, git, *words, folder=folder, GIT_CONFIG_NOSYSTEM="1", **stamp
                )
                # Figures of speed and process numbers.
                results.append((words[0], status, output, re.sub(rb"\d+(\.\d+)? [KM]iB.*", b"", errors)))

            run("init", "-q", "-b", "main", ".")
            for number in range(60):
                (folder / f"file{number}").write_text(f"content {number}\n" * (number * 40 + 1))
            (folder / "large").write_bytes(hashlib.shake_256(b"seed").digest(3_000_000))
            run("add", "-A")
            run("commit", "-q", "-m", "first")
            for number in range(0, 60, 3):
                (folder / f"file{number}").write_text("changed\n")
            run("commit", "-q", "-a", "-m", "second")
            run("branch", "other", "HEAD~1")
            run("diff", "--stat", "other")
            run("log", "--stat", "--format=%H %s")
            run("gc", "-q")
            run("fsck", "--full", "--strict")
            run("clone", "-q", ".", "copy")
            run("-C", "copy", "log", "--format=%H %T")
            run("cat-file", "--batch-check", "--batch-all-objects")
            return results

        results = self.both(work)
        self.assertEqual({status for _, status, *_ in results}, {0}, results)
        self.assertEqual(len(results[-2][2].splitlines()), 2)

    def test_tar(self):
        tar = self.need("tar")

        def work(preload, folder):
            tree = folder / "tree"
            for number in range(40):
                sub = tree / f"sub{number % 7}"
                sub.mkdir(parents=True, exist_ok=True)
                (sub / f"file{number}").write_bytes(hashlib.shake_256(bytes([number])).digest(number * 3001))
            fixed = ("--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner")
            made = self.run_in(preload, tar, "c", *fixed, "-f", "a.tar", "tree", folder=folder)
            archive = hashlib.sha256((folder / "a.tar").read_bytes()).hexdigest()
            out = folder / "out"
            out.mkdir()
            taken = self.run_in(preload, tar, "x", "-f", "../a.tar", folder=out)
            same = self.run_in(preload, "diff", "-r", "tree", "out/tree", folder=folder)
            piped = self.run_in(preload, "sh", "-c", "tar cf - tree | tar tf - | sort", folder=folder)
            return made, archive, taken, same, piped

        made, _, taken, same, piped = self.both(work)
        self.assertEqual([made[0], taken[0], same, piped[0]], [0, 0, (0, b"", b""), 0])
        self.assertEqual(len(piped[1].splitlines()), 48)

    def test_program_in_cpp(self):
        program = BUILD / "bin" / "posix_plain_program"
        status, output, errors = self.both(lambda preload, folder: self.run_in(preload, program, folder, folder=folder))
        self.assertEqual(status, 3, errors)
        for line in (b"constructor", b"thread-local destroyed", b"vfork", b"executed", b"spawned", b"interrupted -1 1"):
            self.assertIn(line + b"\n", output)
        self.assertTrue(output.endswith(b"atexit\nstatic destroyed\ndestructor\n"), output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
