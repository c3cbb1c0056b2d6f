"""Bad input ends with a clear message and exit status 2, before anything is written."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from heat_support import check, field_file, main, run


def unknown_and_invalid_options_are_named(folder: Path) -> None:
    base = ("--field", field_file(folder), "--directory", folder / "run")
    run(*base, "--colour", "red").expect(2, "--colour", "--help")
    run(*base, "--steps").expect(2, "--steps", "value")
    for option, value in (
        ("--steps", "many"),
        ("--steps", "-3"),
        ("--steps", "99999999999999999999"),
        ("--size", "0"),
        ("--size", "4x"),
        ("--block", "0"),
        ("--checkpoint-every", "1.5"),
        ("--workers", "-1"),
        ("--io", "fast"),
        ("--direct", "maybe"),
        ("--copies", "1000"),
    ):
        run(*base, option, value).expect(2, option, value)
    run(*base, "positional").expect(2, "positional")
    run("--field", "x").expect(2, "--directory")
    run("--directory", folder / "run").expect(2, "--field", "--restart")
    run(*base, "--restart").expect(2, "--restart", "exclude")
    check(not (folder / "run").exists(), "a refused run made its directory")
    help_text = run("--help").expect(0).output
    check("--checkpoint-every" in help_text, f"--help says only {help_text}")


def bad_environment_is_named(folder: Path) -> None:
    base = ("--field", field_file(folder), "--directory", folder / "run")
    run(*base, DOVETAIL_WORKERS="lots").expect(2, "DOVETAIL_WORKERS")
    run(*base, DOVETAIL_ENGINE="steam").expect(2, "DOVETAIL_ENGINE")


def missing_and_wrong_field_files_are_named(folder: Path) -> None:
    directory = folder / "run"

    def refused(path: Path, *words: str) -> None:
        run("--field", path, "--directory", directory).expect(2, str(path), *words)

    refused(folder / "nowhere", "No such file")
    refused(folder, "is not a field file")
    good = field_file(folder).read_bytes()
    bad = folder / "bad"
    for content, word in (
        (b"", "is not a field file"),
        (b"PNG" + good[3:], "is not a field file"),
        (good[:-1], "bytes of cells"),
        (good + b"x", "bytes of cells"),
        (good[:8] + struct.pack("<QQ", 1 << 60, 8) + good[24:], "cannot be"),
        (good[:24] + struct.pack("<d", float("nan")) + good[32:], "not finite"),
    ):
        bad.write_bytes(content)
        refused(bad, word)


def unwritable_places_are_named(folder: Path) -> None:
    field = field_file(folder)
    run("--field", field, "--directory", field / "below").expect(2, str(field / "below"), "Not a directory")
    run("--field", field, "--directory", "/proc/heat").expect(2, "/proc/heat")
    base = ("--field", field, "--directory", folder / "run")
    run(*base, "--json", folder / "no" / "report").expect(2, "--json", "No such file")
    run(*base, "--trace", folder / "no" / "trace").expect(2, "--trace", "No such file")
    if os.geteuid() != 0:
        closed = folder / "closed"
        closed.mkdir(mode=0o555)
        run("--field", field, "--directory", closed).expect(2, str(closed), "Permission denied")


def a_directory_serves_one_run_at_a_time(folder: Path) -> None:
    directory = folder / "run"
    directory.mkdir()
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        run("--field", field_file(folder), "--directory", directory).expect(2, "in use")
    finally:
        os.close(descriptor)
    run("--field", field_file(folder), "--directory", directory, "--steps", 3).expect(0)


if __name__ == "__main__":
    main(
        unknown_and_invalid_options_are_named,
        bad_environment_is_named,
        missing_and_wrong_field_files_are_named,
        unwritable_places_are_named,
        a_directory_serves_one_run_at_a_time,
    )
