"""A program that another library's starter has started is told of it once, by one of its processes; started as it should be, it is not.

Called with the names of two libraries, their starters and a program of each, in the order name, starter, program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"], "scripts")))

import hangs  # noqa: E402

SENTENCE = "processes were started together, and each is alone in its MPI_COMM_WORLD"


def said(command: list[str]) -> str:
    done: subprocess.CompletedProcess[str] = hangs.run(command, env=dict(os.environ), timeout=120)
    output = f"{done.stdout}{done.stderr}"
    assert done.returncode == 0, f"{command}: {output}"
    return output


def main() -> None:
    words = sys.argv[1:]
    libraries = [words[:3], words[3:]]
    for (name, starter, program), (_, other_starter, _) in (libraries, libraries[::-1]):
        output = said([other_starter, "-n", "2", program])
        assert output.count(SENTENCE) == 1 and f"2 {SENTENCE}" in output, output
        assert ("Open MPI" if name == "openmpi" else "MPICH, or a library") in output, output
        for command in ([starter, "-n", "2", program], [other_starter, "-n", "1", program], [program]):
            output = said(command)
            assert SENTENCE not in output, f"{command}: {output}"


if __name__ == "__main__":
    main()
