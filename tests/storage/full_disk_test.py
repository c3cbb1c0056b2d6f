"""Direct writes on a real file system that is full: see FailedWriteTest.OnADiskThatIsFull."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

devices = Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "bench/devices/small_disk.py"
program = Path(os.environ["DOVETAIL_BUILD_DIR"]) / "bin/storage_failed_write_test"
command = [sys.executable, devices, "--size", "4", "--", program, "--gtest_filter=*OnADiskThatIsFull*"]
sys.exit(subprocess.run(command, check=False).returncode)
