"""The shorter ones of CPython's own tests, as one task: see foreign_suites.py, which runs all of them."""

import os
import sys
from pathlib import Path

from foreign_suites import SMALL, Suite, compare_all

if __name__ == "__main__":
    suite = Suite(Path(os.environ.get("DOVETAIL_BUILD_DIR", "build/release")).resolve(), seconds=120)
    sys.exit(compare_all(suite, SMALL, repeats=2))
