"""A test that hangs is shown with the stacks of its processes before ctest ends it; one that does not is left alone."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))

# The child waits where only its stack can tell; the parent waits for the child.
HANGS = """
import subprocess, sys
def waits_for_its_child():
    subprocess.run([sys.executable, "-c", "import threading; threading.Event().wait()"])
waits_for_its_child()
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="dovetail-watchdog-") as name:
        folder = Path(name)
        (folder / "hangs.py").write_text(HANGS)
        # Under a sanitizer it is not run again.
        (folder / "CMakeCache.txt").write_text("DOVETAIL_SANITIZE:STRING=thread\n")
        (folder / "CTestTestfile.cmake").write_text(
            f'add_test(hangs "{sys.executable}" "{folder}/hangs.py")\n'
            'set_tests_properties(hangs PROPERTIES TIMEOUT 20 ENVIRONMENT "PYTHONFAULTHANDLER=1")\n'
            'add_test(ends "true")\n'
            "set_tests_properties(ends PROPERTIES TIMEOUT 20)\n"
        )
        ended = subprocess.run(
            [sys.executable, SOURCE / "scripts" / "run_tests.py", folder],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    said = ended.stdout
    wanted = {
        "the test is named": "watchdog: hangs has run for" in said,
        "with its child": "its 2 processes" in said,
        "the stacks of C": said.count("\nThread 1 ") >= 2 and "\n#0 " in said,
        "the stack of Python": "in waits_for_its_child" in said,
        "the other is left alone": "watchdog: ends" not in said and "1 passed, 1 failed" in said,
        "the status": ended.returncode == 1,
    }
    missing = [what for what, seen in wanted.items() if not seen]
    if missing:
        print(f"not seen: {', '.join(missing)}\n{said}{ended.stderr}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
