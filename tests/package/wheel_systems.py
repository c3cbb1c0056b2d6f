"""The wheels in bare systems, without a compiler and without our packages: installed by pip, they run tasks, programs and doors.

Called by `make test-wheel` with the folder of the wheels. `--system SUITE`: a suite of Debian, made by debootstrap; `SUITE=MIRROR`: one of Ubuntu. Needs root. The systems stay in the
folder for the next time. Status 77: none can be made here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

SCRIPT_OF_UBUNTU = Path("/usr/share/debootstrap/scripts/gutsy")
PACKAGES = "python3,python3-venv,ca-certificates"

# What is done in the new system. Each line says what it has shown.
INSIDE = """
set -e
rm -rf /v && python3 -m venv /v
/v/bin/pip install --quiet --disable-pip-version-check --find-links /wheels --only-binary :all: dovetail
cat > /first.py <<'END'
import dovetail as dt

@dt.task
def add(x: int) -> int:
    return x + 1

print("tasks", dt.wait(add(add(1))))
END
/v/bin/python /first.py
/v/bin/dovetail --help | grep -q Commands
for program in doctor staging tiom; do /v/bin/dovetail $program --help > /dev/null; done
echo tools
/v/bin/dovetail doctor --no-measure /tmp | grep -q "chosen"
echo doctor
cd /tmp
/v/bin/dovetail demo --small --output /tmp/demo > said
grep -q "are those of plain NumPy" said
grep -q "a compiler: run .make demo-heat. in a clone" << END
$(/v/bin/dovetail demo --list)
END
test -s demo/kmeans.html
echo demo
head -c 3000000 /dev/urandom > data
/v/bin/dovetail observe --output plan.json -- /v/bin/python -c 'print(len(open("data", "rb").read()))'
/v/bin/dovetail run --plan plan.json -- /v/bin/python -c 'print(len(open("data", "rb").read()))'
echo prefetch
/v/bin/pip install --quiet --disable-pip-version-check --only-binary :all: h5py
cat > /hdf5.py <<'END'
import h5py, numpy, sys
from dovetail import hdf5
with h5py.File("/tmp/file.h5", "w") as file:
    file["x"] = numpy.arange(1000000)
with h5py.File("/tmp/file.h5") as file:
    assert (file["x"][...] == numpy.arange(1000000)).all()
print("hdf5", hdf5.is_used())
END
/v/bin/dovetail run --hdf5 -- /v/bin/python /hdf5.py
/v/bin/dovetail demo hdf5 --small --output /tmp/demo > said
grep -q "files hold the same numbers" said
echo demo
"""
EXPECTED = "tasks 3\ntools\ndoctor\ndemo\n3000000\n3000000\nprefetch\nhdf5 True\ndemo\n"


def make(system: str, folder: Path) -> Path | None:
    """Its root; None if it cannot be made here."""
    suite, _, mirror = system.partition("=")
    root = folder / suite
    if (root / "made").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}"]
    if mirror:
        words += ["--no-check-gpg", "--components=main,universe", suite, str(root), mirror, str(SCRIPT_OF_UBUNTU)]
    else:
        words += [suite, str(root)]
    print(f"wheel: making {suite}", flush=True)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"wheel: {suite} cannot be made:\n{done.stdout[-2000:]}{done.stderr[-2000:]}", file=sys.stderr)
        return None
    (root / "made").touch()
    return root


def prepare(root: Path, wheels: Path) -> None:
    """Wheels, and how this machine reaches the index of packages."""
    shutil.rmtree(root / "wheels", ignore_errors=True)
    (root / "wheels").mkdir()
    for wheel in wheels.glob("*.whl"):
        shutil.copy(wheel, root / "wheels")
    for path in ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", path).exists():
            shutil.copy(Path("/", path), root / path)


def run(root: Path) -> subprocess.CompletedProcess[str]:
    """In mounts of its own, of which nothing is left."""
    mounts = f"mount --bind /proc {root}/proc && mount --bind /dev {root}/dev && exec chroot {root} sh -s"
    # A host's variables about pip name its own folders.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_FIND"))}
    words = ["unshare", "--mount", "sh", "-c", mounts]
    return subprocess.run(
        words, input=INSIDE, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--system", action="append")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("wheel: a bare system needs root, and debootstrap", file=sys.stderr)
        return 77
    status = 77
    for system in arguments.system or ["bookworm"]:
        root = make(system, arguments.wheels / "systems")
        if root is None:
            continue
        prepare(root, arguments.wheels)
        begin = time.monotonic()
        done = run(root)
        if done.returncode != 0 or done.stdout != EXPECTED:
            print(f"wheel: {system}: exit status {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
            return 1
        print(f"wheel: {root.name}: all of it in {time.monotonic() - begin:.0f} s", flush=True)
        status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
