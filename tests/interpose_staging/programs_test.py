"""Programs that have never heard of Dovetail write files that are staged: the same bytes, output and exit status as without."""

import filecmp
import os
import shutil
import sys
import unittest
from pathlib import Path

from support import Case

SOURCE = Path(__file__).resolve().parents[2] / "src" / "staging"
ARCHIVES = f"""
set -e
tar cf a.tar -C {SOURCE} .
mkdir x; tar xpf a.tar -C x
cp -r {SOURCE} cp; cp --sparse=always {sys.executable} sparse
dd if=/bin/bash of=dd bs=7777 status=none
dd if=/bin/bash of=dd conv=notrunc bs=1000 seek=5 count=9 status=none
dd if=/bin/bash of=dd2 oflag=append conv=notrunc bs=64k status=none
gzip -kn < /bin/bash > gz; head -c 100000 /bin/bash | split -b 30000 - part.
echo one > sh; echo two >> sh; (echo three; cat /etc/hostname) >> sh; sort sh > sorted; sed -i s/one/1/ sh; tee tee < /etc/passwd > passwd
"""
RSYNC = f"""
set -e
rsync -a {SOURCE}/ to/; echo more >> to/stage.cpp
rsync -a --inplace --checksum {SOURCE}/ to/
"""
SQLITE = """
set -e
sqlite3 db 'create table t(a integer primary key, b); with recursive c(i) as (select 1 union all select i+1 from c where i<5000)
  insert into t select i, hex(i*i) from c; create index x on t(b);'
sqlite3 db 'delete from t where a%3=0; vacuum; pragma integrity_check; select count(*) from t;'
sqlite3 wal 'pragma journal_mode=wal; create table t(a); insert into t values(1),(2); pragma integrity_check;'
"""
MAKE = r"""
set -e
for i in 1 2 3 4; do echo "int f$i(int x) { return x + $i; }" > f$i.c; done
echo 'int f1(int); int f2(int); int main() { return f1(f2(3)); }' > main.c
printf 'p: main.o f1.o f2.o f3.o f4.o\n\tgcc -o $@ $^\n%%.o: %%.c\n\tgcc -c -O1 $< -o $@\n' > Makefile
make -s -j2 p; make p; ./p || echo $?
"""
CHECKPOINTS = """
import os, pickle, subprocess
state = {layer: bytes([layer]) * 50_000 for layer in range(100)}
for step in range(3):
    with open("new", "wb") as file:
        pickle.dump((step, state), file)
        file.flush()
        os.fsync(file.fileno())
    os.rename("new", "checkpoint")
print(pickle.load(open("checkpoint", "rb"))[0])
with open("log", "w") as log:
    for number in range(1000):
        log.write(f"line {number}\\n")
    log.flush()
    subprocess.run(["echo", "from a child"], stdout=log)
    log.write("end\\n")
"""
GIT = """
set -e
export GIT_AUTHOR_DATE=@1000000000 GIT_COMMITTER_DATE=@1000000000 HOME=$PWD
git init -q one
git -C one config gc.auto 0
for step in 1 2 3; do
  cp /usr/bin/env one/binary; seq 1 $((step * 1000)) > one/text
  git -C one add .; git -C one -c user.name=n -c user.email=e commit -qm $step
done
git clone -q one two
git -C two tag here; git -C two gc -q --prune=now
git -C two fsck --full; git -C two log --format=%H; git -C two status --short
rm */.git/index  # it has the times of files
"""
# As PyTorch's: an archive that is not compressed, of the structure and of each array.
ARCHIVED_CHECKPOINTS = """
import os, pickle, tempfile, zipfile
arrays = {f"layer{number}": bytes([number]) * 700_000 for number in range(8)}
for step in range(3):
    handle, name = tempfile.mkstemp(dir=".", suffix=".tmp")
    with os.fdopen(handle, "w+b", buffering=0) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo("data.pkl"), pickle.dumps((step, sorted(arrays))))
            for layer, content in arrays.items():
                archive.writestr(zipfile.ZipInfo(f"data/{layer}"), content)
        os.fsync(file.fileno())
    os.rename(name, "model.pt")
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
with zipfile.ZipFile("model.pt") as archive:
    print(archive.testzip(), pickle.loads(archive.read("data.pkl")))
"""


def differences(compared: filecmp.dircmp) -> list[str]:
    below = [name for each in compared.subdirs.values() for name in differences(each)]
    unequal = filecmp.cmpfiles(compared.left, compared.right, compared.common_files, shallow=False)
    return [*compared.left_only, *compared.right_only, *unequal[1], *unequal[2], *below]


class Programs(Case):
    def compare(self, *words, writes_streams: bool = False) -> None:
        if shutil.which(words[0]) is None:
            self.skipTest(f"there is no {words[0]}")
        plain = self.root / "plain"
        plain.mkdir()
        without = self.plain(*words, cwd=plain)
        self.assertEqual(without.returncode, 0, without.stderr)
        done = self.staged(*words, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, without.stdout), done.stderr)
        self.assertEqual(differences(filecmp.dircmp(plain, self.folder)), [], done.stderr)
        self.assertEqual(self.logs(), [])
        # What writes streams alone has nothing staged.
        self.assertTrue(self.was_staged() or writes_streams)

    def test_archives_and_copies(self):
        self.compare("bash", "-c", ARCHIVES)

    def test_rsync(self):
        if shutil.which("rsync") is None:
            self.skipTest("there is no rsync")
        self.compare("bash", "-c", RSYNC)

    def test_sqlite(self):
        if shutil.which("sqlite3") is None:
            self.skipTest("there is no sqlite3")
        self.compare("bash", "-c", SQLITE)

    def test_make(self):
        self.compare("bash", "-c", MAKE, writes_streams=True)

    def test_checkpoints(self):
        self.compare(sys.executable, "-c", CHECKPOINTS)

    def test_archived_checkpoints(self):
        self.compare(sys.executable, "-c", ARCHIVED_CHECKPOINTS)

    def test_git(self):
        if shutil.which("git") is None or not os.environ.get("DOVETAIL_TEST_LONG"):
            self.skipTest("there is no git, or no time for it")
        self.compare("bash", "-c", GIT)


if __name__ == "__main__":
    unittest.main()
