"""heat with its rows divided among ranks leaves the files of heat, byte by byte, whatever the library, the variant and the number of ranks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from heat_support import BUILD, SMALL, Result, Skipped, check, complete_checkpoints, field_file, hangs, main, run

RANK_VARIANTS = ("messages-only", "multiple", "two-sided", "one-sided")
IO_OF_VARIANT = {"messages-only": "plain", "multiple": "bound", "two-sided": "pausing", "one-sided": "bound"}
FILES = ("checkpoint-0.heat", "checkpoint-1.heat", "checkpoint-2.heat", "final.heat")
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def libraries() -> list[str]:
    """The MPI libraries of this machine."""
    if SMALL:
        raise Skipped("MPI libraries are not made for sanitizers, and the program is not built with them")
    found = [
        name for name in ("mpich", "openmpi") if shutil.which(f"mpiexec.{name}") and shutil.which(f"mpicxx.{name}")
    ]
    if not found:
        raise Skipped("there is no MPI library: install mpich or openmpi")
    for library in found:
        check((BUILD / "bin" / f"heat_ranks_{library}").is_file(), f"heat_ranks_{library} is missing: build it")
    return found


def run_ranks(library: str, ranks: int, *arguments: object) -> Result:
    command = [f"mpiexec.{library}", "-n", ranks, BUILD / "bin" / f"heat_ranks_{library}", *arguments]
    done = hangs.run([str(word) for word in command], env={**os.environ, **ENVIRONMENT}, timeout=100)
    return Result(done.returncode, done.stdout, done.stderr)


def check_same(one: Path, ranks: Path, files: tuple[str, ...], what: str) -> None:
    for name in files:
        check(
            (one / name).read_bytes() == (ranks / name).read_bytes(), f"{what}: {name} differs from that of one process"
        )


def files_equal_those_of_one_process(folder: Path) -> None:
    field = field_file(folder)
    # The last of 9, of 4 and of 61 rows of blocks are lower than the others, and so are columns narrower.
    for block, steps, copies, counts in ((7, 23, 1, (1, 2, 4)), (16, 17, 0, (4,)), (1, 4, 2, (3,))):
        work = ("--field", field, "--block", block, "--steps", steps, "--checkpoint-every", max(1, steps // 4))
        one = folder / f"one-{block}"
        run(*work, "--directory", one, "--json", folder / "one.json").expect(0)
        checksum = json.loads((folder / "one.json").read_text())["checksum"]
        for library in libraries():
            for variant in RANK_VARIANTS:
                for ranks in counts:
                    what = f"{library}, {variant}, {ranks} ranks, blocks of {block}"
                    directory = folder / f"{library}-{variant}-{ranks}-{block}"
                    options = ("--variant", variant, "--io", IO_OF_VARIANT[variant], "--copies", copies, "--workers", 2)
                    report = folder / "ranks.json"
                    run_ranks(library, ranks, *work, *options, "--directory", directory, "--json", report).expect(0)
                    check_same(one, directory, FILES, what)
                    said = json.loads(report.read_text())
                    check(said["checksum"] == checksum, f"{what}: checksum {said['checksum']}, not {checksum}")
                    check((said["variant"], said["ranks"]) == (variant, ranks), f"{what}: the report says {said}")
                    check(said["seconds"] > 0, f"{what}: the report has no time")
                    check(not (directory / "final.heat.partial").exists(), f"{what}: the partial file is left")


def a_checkpoint_goes_on_with_another_number_of_ranks(folder: Path) -> None:
    work = ("--checkpoint-every", 4, "--workers", 2)
    begin = ("--field", field_file(folder), "--block", 7)
    run(*begin, *work, "--steps", 22, "--directory", folder / "one").expect(0)
    for library in libraries():
        # 4 ranks, then 1 process, then 2 ranks, then 3, then 1 rank without tasks.
        directory = folder / library
        run_ranks(library, 4, *begin, *work, "--variant", "one-sided", "--steps", 5, "--directory", directory).expect(0)
        again = ("--restart", "--directory", directory, *work)
        run(*again, "--steps", 9).expect(0, "restarted from step 5")
        run_ranks(library, 2, *again, "--variant", "two-sided", "--steps", 13).expect(0, "restarted from step 9")
        run_ranks(library, 3, *again, "--variant", "one-sided", "--steps", 17).expect(0, "restarted from step 13")
        run_ranks(library, 1, *again, "--variant", "messages-only", "--steps", 22).expect(0, "restarted from step 17")
        check_same(folder / "one", directory, ("final.heat",), library)


def a_damaged_part_makes_all_ranks_take_an_older_checkpoint(folder: Path) -> None:
    work = ("--steps", 22, "--checkpoint-every", 5, "--workers", 2)
    run("--field", field_file(folder), "--block", 7, *work, "--directory", folder / "one").expect(0)
    for library in libraries():
        for variant in ("one-sided", "messages-only"):
            directory = folder / f"{library}-{variant}"
            shutil.copytree(folder / "one", directory)
            (directory / "final.heat").unlink()
            newest = complete_checkpoints(directory)[20]
            raw = bytearray(newest.read_bytes())
            raw[-4096] ^= 1
            newest.write_bytes(raw)
            result = run_ranks(library, 4, "--restart", "--directory", directory, *work, "--variant", variant)
            result.expect(0, "damaged: block (8,6)", "restarted from step 15")
            check(result.errors.count("damaged") == 1, f"said by several ranks:\n{result.errors}")
            check_same(folder / "one", directory, ("final.heat",), f"{library}, {variant}")


def bad_input_is_told_once_with_status_2(folder: Path) -> None:
    field = field_file(folder)
    run("--field", field, "--block", 7, "--steps", 3, "--directory", folder / "there").expect(0)
    refused = {
        "--variant is 'three-sided': it must be one of": ("--variant", "three-sided"),
        "--variant needs a value": ("--variant",),
        "--directory is missing": ("--field", field),
        "2 rows of blocks for 4 ranks": ("--field", field, "--block", 40, "--directory", folder / "few"),
        "is not a field file": ("--field", __file__, "--directory", folder / "wrong"),
        "is there already, complete": ("--field", field, "--directory", folder / "there"),
        "is at step 3 already": ("--restart", "--directory", folder / "there", "--steps", 2),
        "holds no complete checkpoint": ("--restart", "--directory", folder / "none"),
    }
    for library in libraries():
        for words, arguments in refused.items():
            result = run_ranks(library, 4, *arguments).expect(2, words)
            check(result.errors.count(words) == 1, f"said by several ranks:\n{result.errors}")


def a_rank_that_fails_ends_all_and_says_what_is_safe(folder: Path) -> None:
    from small_disk import SmallDisk, SmallDiskUnavailable

    # As in heat_full_disk_test: two checkpoints fit, and the third does not.
    common = ("--steps", 60, "--checkpoint-every", 5, "--workers", 2)
    begin = ("--field", field_file(folder), "--size", 360, "--block", 90, *common)
    run(*begin, "--directory", folder / "whole").expect(0)
    for library in libraries():
        for variant in RANK_VARIANTS:
            roomy = folder / f"roomy-{library}-{variant}"
            roomy.mkdir()
            try:
                with SmallDisk(3) as disk:
                    directory = disk.path / "run"
                    failed = run_ranks(library, 4, *begin, "--directory", directory, "--variant", variant)
                    # MPICH's starter ends the other ranks by a signal, and gives the number of that one.
                    check(failed.status != 0, "the run that failed has exit status 0")
                    failed.expect(failed.status, "No space left on device", "step 10 is safe", "--restart")
                    for path in complete_checkpoints(directory).values():
                        shutil.copy(path, roomy)
            except SmallDiskUnavailable as error:
                raise Skipped(error) from error
            again = run_ranks(library, 2, "--restart", "--directory", roomy, *common, "--variant", variant)
            again.expect(0, "restarted from step 10")
            check_same(folder / "whole", roomy, ("final.heat",), f"{library}, {variant}")


if __name__ == "__main__":
    main(
        files_equal_those_of_one_process,
        a_checkpoint_goes_on_with_another_number_of_ranks,
        a_damaged_part_makes_all_ranks_take_an_older_checkpoint,
        bad_input_is_told_once_with_status_2,
        a_rank_that_fails_ends_all_and_says_what_is_safe,
    )
