"""A device that fails: the message names task, file, offset and error, and the checkpoints that were safe stay so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heat_support import HEAT, VARIANTS, Skipped, check, complete_checkpoints, field_file, final_bytes, main, run

STEPS, EVERY = 60, 5
COMMON = ("--steps", STEPS, "--checkpoint-every", EVERY)


def begin(folder: Path) -> tuple[object, ...]:
    return ("--field", field_file(folder), "--size", 200, "--block", 64, *COMMON)


@contextmanager
def faults(*rules: str) -> Iterator:
    from fault_fs import FaultFs, FaultFsUnavailable

    try:
        file_system = FaultFs(rules)
        file_system.__enter__()
    except FaultFsUnavailable as error:
        raise Skipped(error) from error
    with file_system:
        yield file_system


def expected_bytes(folder: Path) -> bytes:
    run(*begin(folder), "--directory", folder / "whole").expect(0)
    return final_bytes(folder / "whole")


def finish(directory: Path, options: tuple[object, ...], at_least: int, expected: bytes, **environment: str) -> None:
    report = directory / "report.json"
    run("--restart", "--directory", directory, *COMMON, *options, "--json", report, **environment).expect(0)
    step = json.loads(report.read_text())["restarted_from"]
    check(step >= at_least, f"restarted from step {step}, and {at_least} was safe")
    check(final_bytes(directory) == expected, f"{options}: other bytes than the whole run")


def failing_writes_and_syncs_are_told_and_lose_nothing(folder: Path) -> None:
    expected = expected_bytes(folder)
    for variant in VARIANTS:
        for direct in ("never", "automatic"):
            options = ("--io", variant, "--direct", direct)
            # The third checkpoint is the first that cannot be written.
            for rule, task, place in (
                ("write error=EIO path=*checkpoint-2.heat offset=8192..", "write, step 15", "at offset"),
                ("fsync error=EIO path=*checkpoint-2.heat", "sync data, step 15", "fdatasync"),
            ):
                with faults(rule) as device:
                    directory = device.path / "run"
                    failed = run(*begin(folder), "--directory", directory, *options)
                    path = str(directory / "checkpoint-2.heat")
                    failed.expect(1, task, path, place, "Input/output error", "kernel's log")
                    failed.expect(1, "step 10 is safe", "--restart")
                    found = sorted(complete_checkpoints(directory))
                    check(found == [5, 10], f"complete checkpoints of steps {found}, not 5 and 10")
                    check(not (directory / "final.heat").exists(), "a failed run has a final field")
                    device.set_rules()
                    finish(directory, options, 10, expected)


def short_and_interrupted_transfers_do_no_harm(folder: Path) -> None:
    expected = expected_bytes(folder)
    for variant in VARIANTS:
        for engine, rules in (
            ("auto", ("read short=8192 every=2", "write error=EINTR every=7")),
            # FUSE turns an asynchronous write that is short into EIO, so these go through threads.
            ("threads", ("write short=4096 every=3", "read short=8192 every=2")),
        ):
            with faults(*rules) as device:
                directory = device.path / "run"
                run(*begin(folder), "--directory", directory, "--io", variant, DOVETAIL_ENGINE=engine).expect(0)
                check(final_bytes(directory) == expected, f"{variant}, {engine}: other bytes after {rules}")
                fired = [rule["fired"] for rule in device.status()["rules"] if rule["rule"].startswith("write")]
                check(fired and fired[0] > 0, f"{variant}, {engine}: {rules} were never applied")
                (directory / "final.heat").unlink()
                finish(directory, ("--io", variant), STEPS - EVERY, expected, DOVETAIL_ENGINE=engine)


def unreadable_checkpoint_is_told_and_passed_over(folder: Path) -> None:
    expected = expected_bytes(folder)
    for variant in VARIANTS:
        with faults() as device:
            directory = device.path / "run"
            run(*begin(folder), "--directory", directory).expect(0)
            (directory / "final.heat").unlink()
            steps = complete_checkpoints(directory)
            newest, older = sorted(steps, reverse=True)[:2]
            device.set_rules(f"read error=EIO path=*{steps[newest].name} offset=16384..")
            report = folder / "report.json"
            restart = run("--restart", "--directory", directory, *COMMON, "--io", variant, "--json", report)
            restart.expect(0, str(steps[newest]), f"step {newest}", "cannot be read", "Input/output error")
            step = json.loads(report.read_text())["restarted_from"]
            check(step == older, f"restarted from step {step}, not {older}")
            check(final_bytes(directory) == expected, f"{variant}: other bytes than the whole run")


def killed_while_a_write_is_in_flight(folder: Path) -> None:
    expected = expected_bytes(folder)
    for variant in VARIANTS:
        # The device holds the write back until the run is dead: no instant is more in the middle than that.
        for rule, safe in (
            ("write hold path=*checkpoint-2.heat offset=8192..", 10),
            ("write hold nth=2 path=*checkpoint-0.heat offset=0..4096", 0),
            ("fsync hold path=*checkpoint-1.heat", 5),
            ("write hold path=*final.heat.partial offset=8192..", STEPS - EVERY),
        ):
            with faults(rule) as device:
                directory = device.path / "run"
                command = [str(HEAT), *map(str, begin(folder)), "--directory", str(directory), "--io", variant]
                with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                    try:
                        device.wait_for_waiting(1)
                    finally:
                        process.kill()
                        device.set_rules()
                found = sorted(complete_checkpoints(directory))
                check(safe in (0, *found), f"{rule}: complete checkpoints of steps {found}; {safe} was safe")
                if found:
                    finish(directory, ("--io", variant), safe, expected)
                else:
                    run("--restart", "--directory", directory, *COMMON).expect(
                        2, "not complete", "no complete checkpoint"
                    )


if __name__ == "__main__":
    main(
        failing_writes_and_syncs_are_told_and_lose_nothing,
        short_and_interrupted_transfers_do_no_harm,
        unreadable_checkpoint_is_told_and_passed_over,
        killed_while_a_write_is_in_flight,
    )
