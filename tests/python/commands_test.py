"""Every command says its version, the tools have a page of the manual with all of their options, and shells complete the command `dovetail`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import hangs
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
TOOLS = ("dovetail-advisord", "dovetail-doctor", "dovetail-observer", "dovetail-staging", "dovetail-tiom")
# What the program of the package does, under the name that it has where it is installed.
COMMAND = "import sys; sys.argv[0] = 'dovetail'; from dovetail.cli import main; main()"


def version() -> str:
    found = re.search(r"^project\(dovetail VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)
    assert found is not None
    return found[1]


def said(*words: object, **environment: str) -> str:
    done = hangs.run(words, timeout=100, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def tool(name: str) -> Path:
    path = BUILD / "bin" / name
    if name == "dovetail-observer" and not path.exists():
        pytest.skip("dovetail-observer is left out of this build")
    return path


@pytest.mark.parametrize("name", TOOLS)
def test_tools_say_their_version(name: str) -> None:
    assert said(tool(name), "--version").split()[-1] == version()


def test_the_command_says_its_version() -> None:
    assert said(sys.executable, "-c", COMMAND, "--version") == version() + "\n"
    assert said(sys.executable, "-m", "dovetail", "version") == version() + "\n"


def test_documents_have_the_version() -> None:
    assert f"\nversion: {version()}\n" in (SOURCE / "CITATION.cff").read_text()
    assert f"\n## {version()}" in (SOURCE / "CHANGELOG.md").read_text()
    assert f'\nversion = "{version()}"\n' in (SOURCE / "pyproject.toml").read_text()


@pytest.mark.parametrize("name", TOOLS)
def test_tools_have_a_page_of_the_manual(name: str) -> None:
    options = re.findall(r"--[a-z][a-z-]+", said(tool(name), "--help"))
    page = (BUILD / "share" / "man" / "man1" / f"{name}.1").read_text()
    assert len(options) >= 2
    for option in options:
        assert option.replace("-", "\\-") in page
    assert f'"Dovetail {version()}"' in page


def test_shells_complete_sub_commands() -> None:
    asked = {"_DOVETAIL_COMPLETE": "complete_bash", "COMP_WORDS": "dovetail ob", "COMP_CWORD": "1"}
    assert said(sys.executable, "-c", COMMAND, **asked).split() == ["observe"]
    assert "complete -o default -F _dovetail_completion dovetail" in said(
        sys.executable, "-c", COMMAND, _DOVETAIL_COMPLETE="source_bash"
    )
