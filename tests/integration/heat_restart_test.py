"""A run that is killed at any instant and restarted ends with the same bytes; damaged checkpoints are told and passed over."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

from heat_support import HEAT, SMALL, VARIANTS, check, complete_checkpoints, field_file, final_bytes, main, run

KILLS = 8 if SMALL else 36
STEPS, EVERY = (100, 5) if SMALL else (400, 10)
SIZE = 256 if SMALL else 512
COMMON = ("--steps", STEPS, "--checkpoint-every", EVERY)


def begin(folder: Path, size: int = SIZE) -> tuple[object, ...]:
    return ("--field", field_file(folder), "--size", size, "--block", 64, *COMMON)


def kill_after(seconds: float, arguments: list[str], log: Path) -> tuple[bool, str]:
    """Run heat and kill it after so long; whether it was killed, and what it had said by then."""
    with log.open("w") as errors:
        process = subprocess.Popen([str(HEAT), *arguments], stdout=subprocess.DEVNULL, stderr=errors)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    said = log.read_text()
    check(process.returncode in (0, -signal.SIGKILL), f"exit status {process.returncode}: {said}")
    return process.returncode != 0, said


def acknowledged(said: str) -> int:
    """The last checkpoint that the run called safe."""
    steps = re.findall(r"checkpoints on disk, the last of step (\d+)", said)
    return int(steps[-1]) if steps else 0


def killed_at_random_instants(folder: Path) -> None:
    seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed} (DOVETAIL_TEST_SEED repeats the instants)", flush=True)
    choose = random.Random(seed)
    arguments = begin(folder)
    start = time.monotonic()
    run(*arguments, "--directory", folder / "whole", "--progress").expect(0)
    duration = time.monotonic() - start
    expected = final_bytes(folder / "whole")

    killed = runs = restarts = 0
    while killed < KILLS:
        directory = folder / f"run-{runs}"
        runs += 1
        safe = 0
        command: list[str] = []
        while True:
            options = ["--io", choose.choice(VARIANTS), "--workers", str(choose.choice((1, 2, 3)))]
            options += [
                "--direct",
                choose.choice(("never", "automatic")),
                "--copies",
                choose.choice("012"),
                "--progress",
            ]
            if not command:
                command = [*map(str, arguments), "--directory", str(directory)]
            died, said = kill_after(choose.uniform(0, 1.1 * duration), [*command, *options], folder / "log")
            if not died:
                break
            killed += 1
            safe = max(safe, acknowledged(said))
            found = sorted(complete_checkpoints(directory))
            wanted = min(2, safe // EVERY)
            check(len(found) >= wanted, f"step {safe} was safe, and the complete checkpoints are {found}")
            report = folder / "report.json"
            restart = ["--restart", "--directory", str(directory), *map(str, COMMON)]
            if found and choose.random() < 0.5:
                command = restart  # the restarted run is killed as well, perhaps
                restarts += 1
                continue
            result = run(*restart, *options, "--json", report)
            if found or (directory / "final.heat").exists():
                result.expect(0)
                step = json.loads(report.read_text())["restarted_from"]
                check(step >= safe, f"step {safe} was safe, and the restart began at {step}")
                restarts += 1
            else:
                result.expect(2, "no complete checkpoint")
                check(safe == 0, f"step {safe} was safe and is lost")
                run(*arguments, "--directory", directory, *options).expect(0)
            break
        check(final_bytes(directory) == expected, f"other bytes after {killed} kills; the last command was {command}")
    print(f"{killed} kills within {1.1 * duration:.2f} s, {restarts} restarts from a checkpoint", flush=True)
    check(restarts > 0, "no kill left a checkpoint: nothing was tested")


def damaged_checkpoints_are_told_and_passed_over(folder: Path) -> None:
    choose = random.Random(7)
    arguments = begin(folder, 200)
    run(*arguments, "--directory", folder / "whole").expect(0)
    expected = final_bytes(folder / "whole")
    intact = {path.name: path.read_bytes() for path in (folder / "whole").glob("checkpoint-*.heat")}
    directory = folder / "damaged"
    directory.mkdir()

    def restart_with(variant: str, damage: dict[int, bytes], status: int, *words: str) -> dict:
        """`damage` says what stands in the place of the n-th newest checkpoint."""
        for name, content in intact.items():
            (directory / name).write_bytes(content)
        (directory / "final.heat").unlink(missing_ok=True)
        newest_first = [path for _, path in sorted(complete_checkpoints(directory).items(), reverse=True)]
        for rank, content in damage.items():
            newest_first[rank].write_bytes(content)
        report = directory / "report.json"
        options = ("--io", variant, "--direct", choose.choice(("never", "automatic")), "--json", report)
        run("--restart", "--directory", directory, *COMMON, *options).expect(status, *words)
        if status != 0:
            return {}
        check(final_bytes(directory) == expected, f"other bytes after a restart with damage to {list(damage)}")
        return json.loads(report.read_text())

    steps = sorted(complete_checkpoints(folder / "whole"), reverse=True)
    names = {step: path.name for step, path in complete_checkpoints(folder / "whole").items()}
    contents = [intact[names[step]] for step in steps]
    length = len(contents[0])
    for variant in VARIANTS[:1] if SMALL else VARIANTS:
        told = restart_with(variant, {}, 0)
        check(told["restarted_from"] == steps[0], f"restarted from {told['restarted_from']}, not {steps[0]}")
        for cut in (0, 1, 4095, 4096, 8192, length // 2, length - 1):
            told = restart_with(variant, {0: contents[0][:cut]}, 0, names[steps[0]], "cut short")
            check(told["restarted_from"] == steps[1], f"restarted from {told['restarted_from']}, not {steps[1]}")
        for place in (0, 17, 4095, 4096, 8191, 8192, length - 1, *(choose.randrange(length) for _ in range(4))):
            flipped = bytearray(contents[0])
            flipped[place] ^= 1 << choose.randrange(8)
            # Where the hash table is only padding there is nothing that could be spoilt.
            padding = 4096 + 8 * 16 <= place < 8192
            told = restart_with(variant, {0: bytes(flipped)}, 0, *(() if padding else (names[steps[0]],)))
            wanted = steps[0] if padding else steps[1]
            check(
                told["restarted_from"] == wanted, f"byte {place}: restarted from {told['restarted_from']}, not {wanted}"
            )
        os.unlink(directory / names[steps[0]])
        os.mkfifo(directory / names[steps[0]])
        run("--restart", "--directory", directory, *COMMON, "--io", variant).expect(
            1, names[steps[0]], "is no regular file", "remove it"
        )
        os.unlink(directory / names[steps[0]])
        both = {0: contents[0][:-1], 1: contents[1][:100]}
        told = restart_with(variant, both, 0, names[steps[0]], names[steps[1]])
        check(told["restarted_from"] == steps[2], f"restarted from {told['restarted_from']}, not {steps[2]}")
        all_three = {0: b"", 1: b"x" * length, 2: contents[2][:4096] + bytes(length - 4096)}
        restart_with(variant, all_three, 2, *names.values(), "no complete checkpoint", "begin again")


def restart_is_refused_where_it_makes_no_sense(folder: Path) -> None:
    directory = folder / "run"
    arguments = (*begin(folder, 100), "--directory", directory)
    run("--restart", "--directory", folder / "nothing", *COMMON).expect(2, "no complete checkpoint")
    run(*arguments).expect(0)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    run(*arguments).expect(2, "final.heat", "--restart")
    restart = ("--restart", "--directory", directory)
    run(*restart, "--steps", STEPS, "--size", 50).expect(2, "--size")
    run(*restart, "--steps", STEPS, "--block", 5).expect(2, "--block")
    run(*restart, "--steps", 7).expect(2, "--steps")
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    check(before == after, "a refused run changed a file")
    # What is finished may be asked for again, and may be taken further.
    run(*restart, *COMMON).expect(0)
    check(final_bytes(directory) == before["final.heat"], "the finished run changed")
    run(*restart, "--steps", 2 * STEPS, "--checkpoint-every", EVERY).expect(0)
    run(*begin(folder, 100)[:-4], "--steps", 2 * STEPS, "--directory", folder / "long").expect(0)
    check(final_bytes(directory) == final_bytes(folder / "long"), "a continued run differs from one in one go")


if __name__ == "__main__":
    main(
        killed_at_random_instants,
        damaged_checkpoints_are_told_and_passed_over,
        restart_is_refused_where_it_makes_no_sense,
    )
