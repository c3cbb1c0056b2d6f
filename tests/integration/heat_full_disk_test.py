"""A disk that is full ends the run with a clear message; what was safe before stays so."""

from __future__ import annotations

import json
from pathlib import Path

from heat_support import VARIANTS, Skipped, check, complete_checkpoints, field_file, final_bytes, main, run

STEPS, EVERY = 60, 5
COMMON = ("--steps", STEPS, "--checkpoint-every", EVERY)


def begin(folder: Path) -> tuple[object, ...]:
    # A checkpoint has 1.06 MB: two fit onto the disk of 3 MiB, and the third does not.
    return ("--field", field_file(folder), "--size", 360, "--block", 90, *COMMON)


def full_disk_is_told_and_loses_nothing(folder: Path) -> None:
    from small_disk import SmallDisk, SmallDiskUnavailable

    run(*begin(folder), "--directory", folder / "whole").expect(0)
    expected = final_bytes(folder / "whole")
    for variant in VARIANTS:
        for direct in ("never", "automatic"):
            options = ("--io", variant, "--direct", direct)
            try:
                with SmallDisk(3) as disk:
                    directory = disk.path / "run"
                    failed = run(*begin(folder), "--directory", directory, *options)
                    failed.expect(1, ", step 15", str(directory), "No space left on device", "free some space")
                    failed.expect(1, "step 10 is safe", "--restart")
                    found = sorted(complete_checkpoints(directory))
                    check(found == [5, 10], f"complete checkpoints of steps {found}, not 5 and 10")
                    # With room made, the run can be finished from where it was.
                    roomy = folder / f"roomy-{variant}-{direct}"
                    roomy.mkdir()
                    for path in complete_checkpoints(directory).values():
                        (roomy / path.name).write_bytes(path.read_bytes())
            except SmallDiskUnavailable as error:
                raise Skipped(error) from error
            report = folder / "report.json"
            run("--restart", "--directory", roomy, *COMMON, *options, "--json", report).expect(0)
            step = json.loads(report.read_text())["restarted_from"]
            check(step == 10, f"restarted from step {step}, not 10")
            check(final_bytes(roomy) == expected, f"{variant}, {direct}: other bytes than the whole run")


if __name__ == "__main__":
    main(full_disk_is_told_and_loses_nothing)
