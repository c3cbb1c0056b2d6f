"""advice.json and plan.json: whatever stands in them, it is used or refused with one sentence that names the file.

`prefetch_files_fuzzer.py FOLDER...` repeats the seeds and the files in these folders. With `--seconds N --found FOLDER CORPUS` and the package atheris it runs under libFuzzer.
An input is the letter `c` or `p`, for which of the two it is, and the text.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import struct
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", "build/release")).resolve()
sys.path.insert(0, str(BUILD / "python"))

instrumented: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
if "--seconds" in sys.argv:
    try:
        import atheris
    except ImportError:
        print("the package atheris is not installed")
        sys.exit(77)
    instrumented = atheris.instrument_imports(include=["dovetail"])
try:
    with instrumented:
        from dovetail import plan, replay
        from dovetail.advice_configuration import ConfigurationError, packed, parse
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)

_HEADER_BYTES = 64
_FAR = 1 << 62

_CONFIGURATION = {
    "File": [
        {"Path": ["/nowhere/*.root", "~/r[0-9]?/**/e"], "Processes": ["a", "python3*"], "BlockSize": 65536, "CacheSize": 128, "ReadAheadSize": 0,
         "WillNeed": [{"Offset": 4096, "Length": 8192}, {"Length": 4096}], "Sequential": {"Offset": 16384}},
        {"Path": "/nowhere/index", "Normal": {}, "CacheSize": 2, "MemorySize": 8388608},
    ],
    "Directory": {"Path": "/nowhere", "Recursive": False, "DontNeed": {"Offset": 0}},
}  # fmt: skip


def _plan_of(path: Path) -> dict[str, object]:
    status = path.stat()
    device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    extents = [{"offset": place * 8192, "bytes": 4096, "at": place / 8, "think": 0.5} for place in (9, 2, 400)]
    file = {
        "path": str(path), "device": device, "inode": status.st_ino, "size": status.st_size,
        "modified": status.st_mtime_ns, "mapped": [[0, 4096]], "extents": extents,
    }  # fmt: skip
    return {"dovetail_plan": 1, "program": ["a", "b"], "files": [file]}


class Fuzzer:
    def __init__(self, folder: Path) -> None:
        self._file = folder / "the-name"
        self._data = folder / "data"
        self._data.write_bytes(bytes(4 << 20))

    def seeds(self) -> list[bytes]:
        configuration = json.dumps(_CONFIGURATION, indent=1).encode()
        planned = json.dumps(_plan_of(self._data), indent=1).encode()
        return [b"", b"c", b"p{}", b"c" + configuration, b"p" + planned, b"c" + b"[" * 5000, b"p" + b"[" * 5000]

    def run(self, data: bytes) -> None:
        try:
            if data[:1] == b"p":
                self._plan(data[1:])
            else:
                self._configuration(data[1:])
        except (ConfigurationError, plan.PlanError) as error:
            sentence = str(error)
            assert "the-name" in sentence, f"the sentence does not name the file: {sentence!r}"
            assert "\n" not in sentence, f"this is not one sentence: {sentence!r}"

    def _configuration(self, text: bytes) -> None:
        rules = parse(text, "the-name")
        assert rules, "a configuration without a rule is accepted"
        for rule in rules:
            assert 1 <= rule.cache_blocks <= 128 and 0 <= rule.ahead_blocks <= rule.cache_blocks, rule
            assert rule.memory == 0 or rule.memory >= rule.block_bytes, rule
            assert rule.block_bytes % 4096 == 0 and 4096 <= rule.block_bytes <= 1 << 30, rule
            ends = [bound for region in rule.regions for bound in (region.offset, region.end)]
            assert ends == sorted(ends) and ends[-1] <= _FAR, rule
        assert len(packed(rules).rules) == 64 * len(rules)

    def _plan(self, text: bytes) -> None:
        self._file.write_bytes(text)
        compact = replay.compact(plan.read(self._file), 64 << 20)
        _, size, files, extents = struct.unpack_from("<4Q", compact.content)
        assert size == len(compact.content) and files == len(compact.files), compact.files
        assert extents == sum(len(file.extents) for file in compact.files), extents
        assert all(
            file.path == str(self._data) or not file.path.startswith(str(self._file.parent)) for file in compact.files
        )


def _repeat(fuzzer: Fuzzer, folders: list[str]) -> int:
    files = [path for folder in folders if Path(folder).is_dir() for path in sorted(Path(folder).iterdir())]
    for data in [*fuzzer.seeds(), *(path.read_bytes() for path in files)]:
        fuzzer.run(data)
    print(f"{len(fuzzer.seeds())} seeds, {len(files)} files")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--found", type=Path)
    arguments = parser.parse_args()
    if arguments.seconds is None:
        with tempfile.TemporaryDirectory(prefix="dovetail-fuzz-", dir=BUILD) as folder:
            return _repeat(Fuzzer(Path(folder)), arguments.folders)
    corpus = Path(arguments.folders[0])
    # It stays, since libFuzzer ends the process.
    folder = corpus.with_name(f"{corpus.name}-work")
    for each in (corpus, folder):
        each.mkdir(parents=True, exist_ok=True)
    fuzzer = Fuzzer(folder)
    for number, seed in enumerate(fuzzer.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = [sys.argv[0], f"-max_total_time={arguments.seconds}", "-max_len=65536", "-timeout=25", f"-artifact_prefix={arguments.found}/",
             "-print_final_stats=1", str(corpus)]  # fmt: skip
    atheris.Setup(words, fuzzer.run)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
