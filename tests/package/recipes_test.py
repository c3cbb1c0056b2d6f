"""The recipes for other package managers say what CMake asks for: its version, its options, and every library that it needs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
SPACK = "packages/spack/packages/dovetail/package.py"
CONDA = "packages/conda/recipe.yaml"
# By the names of Debian's packages: those of Spack and of conda.
NAMES = {
    "libaio-dev": ("libaio", "libaio"),
    "libboost-context-dev": ("boost", "libboost-devel"),
    "libcli11-dev": ("cli11", "cli11"),
    "libhwloc-dev": ("hwloc", "libhwloc"),
    "libtomlplusplus-dev": ("tomlplusplus", "tomlplusplus"),
    "liburing-dev": ("liburing", "liburing"),
    "libxxhash-dev": ("xxhash", "xxhash"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann_json"),
    "pkg-config": ("pkgconfig", "pkg-config"),
}


def read(name: str) -> str:
    return (SOURCE / name).read_text()


def main() -> int:
    problems = []
    dependencies, recipes = read("cmake/DovetailDependencies.cmake"), (read(SPACK), read(CONDA))
    needed = set(re.findall(r"\b(lib[a-z0-9]+(?:-[a-z]+)?-dev|nlohmann-json3-dev|pkg-config)\)", dependencies))
    needed -= {"libgtest-dev"}
    if len(needed) != len(NAMES):
        problems.append(f"DovetailDependencies.cmake needs {sorted(needed)}, this test knows {sorted(NAMES)}")
    for package in needed & NAMES.keys():
        for name, recipe, file in zip(NAMES[package], recipes, (SPACK, CONDA), strict=True):
            if not re.search(rf'(?:depends_on\("|    - ){re.escape(name)}(?:[@" ]|$)', recipe, re.M):
                problems.append(f"{file} does not name {name}")
    # Versions that CMake asks for: the same in the recipes, of those that have one.
    oldest = re.findall(r'"[^"]*?(\d[\d.]*) or newer" (lib[a-z]+-[a-z-]+|nlohmann-json3-dev)\)', dependencies)
    for version, package in oldest:
        spack, conda = NAMES[package]
        for text, recipe in ((f"{spack}@{version}:", recipes[0]), (f"{conda} >={version}\n", recipes[1])):
            if text not in recipe:
                problems.append(f"a recipe lacks {text.strip()!r}")
    parts = set(re.findall(r"^dovetail_part\(([A-Z0-9]+) ", read("cmake/DovetailOptions.cmake"), re.M))
    if len(parts) < 8 or len(oldest) < 5:
        problems.append(f"not understood: parts {parts}, oldest versions {oldest}")
    for file, recipe in zip((SPACK, CONDA), recipes, strict=True):
        given = set(re.findall(r"DOVETAIL_([A-Z0-9]+)\b(?=\"|=)", recipe))
        if given - {"HDF5_INCLUDE"} != parts:
            problems.append(f"{file} gives {sorted(given ^ parts)} and CMake does not have it, or the other way round")
    version = re.search(r"^project\(dovetail VERSION ([0-9.]+)", read("CMakeLists.txt"), re.M)
    if version is None or f"  version: {version[1]}\n" not in recipes[1]:
        problems.append(f"{CONDA} is not of the version of CMakeLists.txt")
    print("\n".join(problems) or f"{len(needed)} libraries, {len(parts)} options")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
