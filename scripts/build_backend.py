"""The build backend of the Python package: scikit-build-core, and one sentence where this machine cannot compile.

pip calls the hooks of PEP 517 in a process of its own, and shows what that says.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from typing import Any

# As CMake looks for them.
COMPILERS = {"C": ("CC", ("cc", "gcc", "clang", "icx", "CC")), "C++": ("CXX", ("c++", "g++", "clang++", "icpx", "CC"))}
# What may name a compiler otherwise: CMake decides then.
OTHER_WAYS = ("CMAKE_ARGS", "CMAKE_TOOLCHAIN_FILE", "SKBUILD_CMAKE_ARGS", "SKBUILD_CMAKE_DEFINE")


def missing_compiler() -> str | None:
    """What there is none of, as part of a sentence."""
    if any(map(os.environ.get, OTHER_WAYS)):
        return None
    for language, (variable, usual) in COMPILERS.items():
        named = shlex.split(os.environ.get(variable, ""))
        if named and shutil.which(named[0]) is None:
            return f"{variable} names the compiler {named[0]}, which is not here"
        if not named and os.environ.get("CC"):
            continue  # CMake looks beside that one
        if not named and not any(map(shutil.which, usual)):
            return f"there is no compiler for {language} (looked for {', '.join(usual)})"
    return None


def require_compilers(settings: dict[str, Any] | None) -> None:
    """`settings`: of the command that builds. Where there are any, they may name a compiler."""
    missing = None if settings else missing_compiler()
    if missing is not None:
        raise SystemExit(
            f"dovetail: the sources of Dovetail have to be compiled here, but {missing}: install one (on Debian and Ubuntu: "
            f"apt-get install g++), set CC and CXX, or install a wheel"
        )


def __getattr__(hook: str) -> Any:
    import scikit_build_core.build

    return getattr(scikit_build_core.build, hook)


def compiling(hook: str) -> Callable[..., str]:
    """The hook of scikit-build-core of this name, called only where there are compilers."""

    def build(
        directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
    ) -> str:
        require_compilers(config_settings)
        made: str = __getattr__(hook)(directory, config_settings, metadata_directory)
        return made

    return build


build_wheel = compiling("build_wheel")
build_editable = compiling("build_editable")
