"""Where the machine gives little or forbids io_uring, the run is right all the same, or says what it lacks."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from heat_support import BUILD, VARIANTS, Skipped, check, field_file, final_bytes, main, run


def begin(folder: Path, directory: Path) -> tuple[object, ...]:
    size = ("--size", 300, "--block", 32, "--steps", 30, "--checkpoint-every", 4)
    return ("--field", field_file(folder), "--directory", directory, *size)


def same_bytes_for_all_variants(folder: Path, **restrictions: object) -> None:
    run(*begin(folder, folder / "free")).expect(0)
    expected = final_bytes(folder / "free")
    for variant in VARIANTS:
        for direct in ("never", "automatic"):
            directory = folder / f"{variant}-{direct}"
            run(*begin(folder, directory), "--io", variant, "--direct", direct, **restrictions).expect(0)
            check(
                final_bytes(directory) == expected,
                f"{variant}, direct {direct}: other bytes than without the restriction",
            )


def io_uring_forbidden(folder: Path) -> None:
    launcher = BUILD / "bin" / "dovetail-without-io-uring"
    if not launcher.is_file():
        raise Skipped(f"{launcher} is not built")
    for error in ("EPERM", "ENOSYS"):
        command = (str(launcher), "--errno", error)
        if subprocess.run([*command, "true"], check=False).returncode == 77:
            raise Skipped("this kernel takes no seccomp filter")
        (folder / error).mkdir()
        same_bytes_for_all_variants(folder / error, command=command)


def every_engine(folder: Path) -> None:
    for engine in ("threads", "auto"):
        (folder / engine).mkdir()
        same_bytes_for_all_variants(folder / engine, DOVETAIL_ENGINE=engine)


def limited(kind: int, amount: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (amount, amount))


def little_locked_memory(folder: Path) -> None:
    if os.geteuid() == 0:
        print("note: root is exempt from RLIMIT_MEMLOCK; the run is made as nobody", flush=True)
    folder.chmod(0o777)

    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    same_bytes_for_all_variants(folder, limits=restrict)


def few_open_files(folder: Path) -> None:
    same_bytes_for_all_variants(folder, limits=limited(resource.RLIMIT_NOFILE, 24))
    # So few that nothing can work: the message must say so, and the run must end.
    for amount in (4, 6, 8):
        result = run(*begin(folder, folder / f"few-{amount}"), limits=limited(resource.RLIMIT_NOFILE, amount))
        if result.status != 0:
            check(result.status in (1, 2), f"exit status {result.status}: {result.errors}")
            check("Too many open files" in result.errors, f"with {amount} descriptors it said: {result.errors}")


if __name__ == "__main__":
    main(io_uring_forbidden, every_engine, little_locked_memory, few_open_files)
