"""CPython's own tests, natively and with every file staged that they make: test by test they must end alike.

    foreign_suites.py [--modules test_os test_io ...] [--seconds 900] [--repeats 2]

The modules come with the Python installation that runs this script; some distributions leave them out. Exit status: 0 alike, 1 not, 77 nothing to run.
`DOVETAIL_BUILD_DIR` names the build.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

_PLACE = Path(__file__).resolve().parents[1] / "posix" / "foreign_suites.py"
_FOUND = importlib.util.spec_from_file_location("posix_foreign_suites", _PLACE)
assert _FOUND is not None and _FOUND.loader is not None
posix = importlib.util.module_from_spec(_FOUND)
sys.modules[_FOUND.name] = posix
_FOUND.loader.exec_module(posix)

MODULES = (
    "test_os",
    "test_io",
    "test_shutil",
    "test_tempfile",
    "test_fileio",
    "test_file",
    "test_posix",
    "test_mmap",
    "test_largefile",
    "test_fileinput",
    "test_bufio",
    "test_fcntl",
    "test_pathlib",
    "test_zipfile",
    "test_tarfile",
    "test_gzip",
    "test_dbm_dumb",
    "test_shelve",
    "test_mailbox",
    "test_subprocess",
)
# They count all descriptors of the process, and the library has some.
DIFFERENT = ("test.test_zipfile.TestsWithMultipleOpens.test_many_opens",)


class Suite(posix.Suite):
    WAY = "staged"

    def settings(self, folder: Path, interposed: bool, beside_a_thread: bool) -> dict[str, str]:
        if not interposed:
            return super().settings(folder, False, beside_a_thread)
        tier = Path(tempfile.mkdtemp(prefix="foreign-tier-", dir=self._build))
        configuration = tier.with_suffix(".json")
        names = [str(folder / ("*/" * depth + "*")) for depth in range(6)]
        configuration.write_text(json.dumps({"files": [{"names": names, "tier": str(tier), "from_bytes": 0}]}))
        self.tiers.append(tier)
        return {
            "LD_PRELOAD": str(self._build / "lib" / "libdovetail-staging.so"),
            "DOVETAIL_STAGING_CONFIGURATION": str(configuration),
        }

    def __init__(self, build: Path, seconds: float) -> None:
        super().__init__(build, seconds)
        self.tiers: list[Path] = []

    def compare(self, name: str, repeats: int) -> tuple[int, dict[str, str]]:
        count, unlike = super().compare(name, repeats)
        unlike = {test: text for test, text in unlike.items() if test not in DIFFERENT}
        left = [log for tier in self.tiers for log in tier.iterdir() if log.is_dir()]
        made = [tier for tier in self.tiers if any(tier.iterdir())]
        if left:
            # Tests kill their children.
            print(f"  logs are left, of programs that were killed: {len(left)}")
        if not made:
            unlike["the tier"] = "nothing was staged"
        for tier in self.tiers:
            shutil.rmtree(tier)
            tier.with_suffix(".json").unlink()
        self.tiers.clear()
        return count, unlike


if __name__ == "__main__":
    sys.exit(posix.main(Suite, __doc__, MODULES))
