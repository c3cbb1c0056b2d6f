"""What ctest knows of the tests in a build folder."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Test:
    name: str
    command: tuple[str, ...]  # empty if its program has not been built
    properties: dict[str, Any]


def tests_of(build: Path, *options: str) -> list[Test]:
    """The tests that ctest would run with these options; none if it cannot tell."""
    command = ["ctest", "--test-dir", str(build), *options, "--show-only=json-v1"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if not listing.startswith("{"):
        return []
    return [
        Test(
            test["name"],
            tuple(test.get("command", ())),
            {entry["name"]: entry["value"] for entry in test.get("properties", [])},
        )
        for test in json.loads(listing)["tests"]
    ]
