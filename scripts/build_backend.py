"""The build backend of the Python package: scikit-build-core, and one sentence where this machine cannot compile.

pip calls the hooks of PEP 517 in a process of its own, and shows what that says.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

COMPILERS = {"C": ("CC", ("cc", "gcc", "clang")), "C++": ("CXX", ("c++", "g++", "clang++"))}


def missing_compiler() -> str | None:
    """What there is none of, as part of a sentence."""
    for language, (variable, usual) in COMPILERS.items():
        named = shlex.split(os.environ.get(variable, ""))
        if named and shutil.which(named[0]) is None:
            return f"{variable} names the compiler {named[0]}, which is not here"
        if not named and not any(map(shutil.which, usual)):
            return f"there is no compiler for {language} (looked for {', '.join(usual)})"
    return None


def require_compilers() -> None:
    missing = missing_compiler()
    if missing is not None:
        raise SystemExit(
            f"dovetail: this Python has no wheel of Dovetail for this system, so that it has to be compiled, but {missing}: "
            f"install one (on Debian and Ubuntu: apt-get install g++), or take a Python that has a wheel"
        )


def __getattr__(hook: str) -> Any:
    import scikit_build_core.build

    return getattr(scikit_build_core.build, hook)


def build_wheel(*arguments: Any, **options: Any) -> str:
    require_compilers()
    made: str = __getattr__("build_wheel")(*arguments, **options)
    return made


def build_editable(*arguments: Any, **options: Any) -> str:
    require_compilers()
    made: str = __getattr__("build_editable")(*arguments, **options)
    return made
