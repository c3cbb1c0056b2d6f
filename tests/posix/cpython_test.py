"""The shorter ones of CPython's own tests, as one task: see foreign_suites.py, which runs all of them."""

import sys

from foreign_suites import SMALL, compare_all

if __name__ == "__main__":
    sys.exit(compare_all(SMALL, seconds=120, repeats=2))
