"""`dt.open(..., staged=True)`: writes go to a log on a local tier first."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import dovetail as dt
import pytest

KILLED = """
import os, signal, sys
import dovetail as dt

@dt.task
def checkpoint(path, number):
    with_step = bytes([number]) * 100_000
    file.pwrite(with_step, number * 100_000)

path, tier = sys.argv[1:]
file = dt.File(path).open("w", staged=True, tier=tier)
dt.wait([checkpoint(path, number) for number in range(5)])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def tier(tmp_path):
    folder = tmp_path / "tier"
    folder.mkdir()
    return folder


def test_others_see_it_after_drain_and_close(tmp_path, tier):
    path = tmp_path / "data"
    path.write_bytes(b"old")
    with dt.open(path, "r+", staged=True, tier=tier) as file:
        file.pwrite(b"new", 0)
        file.fsync()
        found = bytearray(3)
        assert file.pread(found) == 3
        assert found == b"new"
        assert path.read_bytes() == b"old"
        file.drain()
        assert path.read_bytes() == b"new"
        file.truncate(1)
        assert file.size == 1
    assert path.read_bytes() == b"n"
    assert not [each for each in tier.iterdir() if each.is_dir()]


def test_tasks(tmp_path, tier, monkeypatch):
    monkeypatch.setenv("DOVETAIL_TIER", str(tier))
    path = tmp_path / "data"
    file = dt.open(path, "w", staged=True)

    @dt.task
    def write(number: int) -> None:
        file.pwrite(bytes([number]) * 300_000, number * 300_000)

    @dt.task
    def close() -> None:
        file.close()

    dt.wait([write(number) for number in range(20)])
    dt.wait(close())
    assert path.read_bytes() == b"".join(bytes([number]) * 300_000 for number in range(20))


def test_what_a_killed_process_wrote_is_found(tmp_path, tier):
    path = tmp_path / "data"
    program = subprocess.run([sys.executable, "-c", KILLED, path, tier], check=False)
    assert program.returncode == -signal.SIGKILL
    assert path.stat().st_size == 0
    with dt.open(path, "r+", staged=True, tier=tier) as file:
        assert file.size == 500_000
    assert path.read_bytes() == b"".join(bytes([number]) * 100_000 for number in range(5))


def test_what_is_wrong_is_said(tmp_path, tier, monkeypatch):
    monkeypatch.delenv("DOVETAIL_TIER", raising=False)
    path = tmp_path / "data"
    path.touch()
    with pytest.raises(OSError, match="DOVETAIL_TIER") as failure:
        dt.open(path, "r+", staged=True)
    assert failure.value.errno == errno.EINVAL
    with pytest.raises(OSError, match="nowhere") as failure:
        dt.open(path, "r+", staged=True, tier=tmp_path / "nowhere")
    assert failure.value.errno == errno.ENOENT
    with pytest.raises(ValueError, match="staged=True"):
        dt.open(path, "r+", tier=tier)
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import dovetail as dt, sys; f = dt.open(sys.argv[1], 'r+', staged=True, tier=sys.argv[2]); print('open', flush=True); input()",
            path,
            tier,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "open\n"
    with pytest.raises(OSError) as failure:
        dt.open(path, "r+", staged=True, tier=tier)
    assert failure.value.errno == errno.EBUSY
    other.communicate("\n")
    with dt.open(path, "r+", staged=True, tier=tier) as file:
        file.pwrite(b"mine")
    assert os.path.getsize(path) == 4
