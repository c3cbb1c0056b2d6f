"""Jobs that are killed and started again, and programs that get their hints from a configuration.

Called with the program that starts ranks, and the program of the jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

STARTER, PROGRAM = sys.argv[1:]
RANKS = 3
VARIABLE = "DOVETAIL_MPIIO_CONFIGURATION"


def run(job: str, folder: Path, ranks: int = RANKS, **environment: str) -> subprocess.CompletedProcess[str]:
    return hangs.run(
        [STARTER, "-n", str(ranks), PROGRAM, job, str(folder)], env={**os.environ, **environment}, timeout=120
    )


def succeeded(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"


def killed_job_is_recovered(folder: Path) -> None:
    killed(folder)
    assert (folder / "file").stat().st_size == 0, "it was drained before it was killed"
    assert len([each for each in (folder / "tier").iterdir() if each.is_dir()]) == RANKS
    done = run("read", folder)
    succeeded(done)
    assert "what an earlier run had left" in done.stderr
    assert (folder / "file").stat().st_size == RANKS * 100_000
    assert not [each for each in (folder / "tier").iterdir() if each.is_dir()]


def configuration(folder: Path) -> dict[str, object]:
    hints = {"e10_cache": "enable", "e10_cache_path": str(folder / "tier"), "e10_cache_flush_flag": "flush_onclose"}
    return {
        "files": [
            {"names": ["checkpoint.*"], "hints": hints, "deferred_close": True},
            {"names": [f"{folder}/oth*"], "hints": hints},
        ]
    }


def written(folder: Path, text: str) -> str:
    path = folder / "configuration.json"
    path.write_text(text)
    return str(path)


def close_is_deferred(folder: Path) -> None:
    succeeded(run("checkpoints", folder, **{VARIABLE: written(folder, json.dumps(configuration(folder)))}))
    for turn in range(3):
        expected = b"".join(bytes([ord("a") + 4 * turn + rank]) * 100_000 for rank in range(RANKS))
        assert (folder / f"checkpoint.{turn}").read_bytes() == expected, f"checkpoint {turn} is not whole"
    assert not [each for each in (folder / "tier").iterdir() if each.is_dir()]


def failure_of_deferred_close_is_told(folder: Path) -> None:
    done = run("failing", folder, **{VARIABLE: written(folder, json.dumps(configuration(folder)))})
    succeeded(done)
    assert "errno 27" in done.stderr, done.stderr


def broken_configurations_end_the_program(folder: Path) -> None:
    hints = {"e10_cache": "enable", "e10_cache_path": "/tier"}
    broken: list[tuple[str, str]] = [
        ("{", "it is no JSON"),
        ("[]", "it must be an object"),
        (json.dumps({"file": []}), '"file" is not known; there are files'),
        (json.dumps({"files": [{"hints": hints}]}), '"names" is missing'),
        (json.dumps({"files": [{"names": ["a"], "hint": hints}]}), 'files[0]: the key "hint" is not known'),
        (
            json.dumps({"files": [{"names": ["a"], "hints": {"e10_cash": "enable"}}]}),
            'the hint "e10_cash" is not known',
        ),
        (json.dumps({"files": [{"names": ["a"], "hints": {"e10_cache": "on"}}]}), "disable, enable and coherent"),
        (json.dumps({"files": [{"names": [], "hints": hints}]}), "files[0].names: it must be a list"),
        (json.dumps({"files": [{"names": ["a"], "deferred_close": 1}]}), "it must be true or false"),
        (json.dumps({"files": [{"names": ["b/a"], "hints": hints}]}), "it must begin with a slash"),
        ("[" * 100, "nested more than"),
    ]
    for text, message in broken:
        done = run("checkpoints", folder, 1, **{VARIABLE: written(folder, text)})
        # A starter may tell of itself instead.
        assert done.returncode != 0, f"{text}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert message in done.stderr, f"{text}: {done.stderr}"
    # Of several ranks that end, a starter may tell of one that it has killed meanwhile, or of itself.
    done = run("checkpoints", folder, **{VARIABLE: str(folder / "none.json")})
    assert done.returncode != 0, f"{done.stdout}{done.stderr}"
    assert "there is no such file" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["configuration.json", "tier"], "a file was touched"


def configuration_that_one_rank_cannot_read_ends_all(folder: Path) -> None:
    good = written(folder, json.dumps(configuration(folder)))
    program = [PROGRAM, "checkpoints", str(folder)]
    command = [STARTER, "-n", "1", *program, ":", "-n", "1", "env", f"{VARIABLE}={folder}/none.json", *program]
    done = hangs.run(command, env={**os.environ, VARIABLE: good}, timeout=120)
    assert done.returncode != 0, f"{done.stdout}{done.stderr}"
    assert done.stderr.count("there is no such file") == 1, done.stderr


def deferred_close_ends_in_finalize_of_fortran(folder: Path) -> None:
    succeeded(run("finalize", folder, **{VARIABLE: written(folder, json.dumps(configuration(folder)))}))
    assert (folder / "checkpoint.0").stat().st_size == RANKS * 100_000
    assert not [each for each in (folder / "tier").iterdir() if each.is_dir()]


def started(job: str, folder: Path, tiers: str = "tier", **environment: str) -> tuple[subprocess.Popen[str], set[int]]:
    """The job, and its processes, which have written all."""
    process = subprocess.Popen(
        [STARTER, "-n", str(RANKS), PROGRAM, job, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "JOB_TIERS": tiers, **environment},
    )
    assert process.stdout is not None
    written: set[int] = set()
    while len(written) < RANKS:
        line = process.stdout.readline()
        assert line, "the job has ended"
        written |= {int(line.split()[-1])}
    return process, written


def killed(folder: Path, tiers: str = "tier", **environment: str) -> None:
    job, written = started("write", folder, tiers, **environment)
    for process in written:
        with contextlib.suppress(ProcessLookupError):  # the starter ends the others once one is gone
            os.kill(process, signal.SIGKILL)
    job.wait()


def logs(folder: Path, tier: str = "tier") -> set[Path]:
    return {each for each in (folder / tier).iterdir() if each.is_dir()}


def staging(*words: str) -> subprocess.CompletedProcess[str]:
    program = Path(os.environ["DOVETAIL_BUILD_DIR"]) / "bin" / "dovetail-staging"
    return hangs.run([str(program), *words], timeout=120)


def part(turn: int) -> bytes:
    return b"".join(bytes([ord("a") + 4 * turn + rank]) * 100_000 for rank in range(RANKS))


def restart_on_other_nodes_supersedes(folder: Path) -> None:
    (folder / "other").mkdir()
    killed(folder)
    left = logs(folder)
    done = run("overwrite", folder, JOB_TIERS="other")
    succeeded(done)
    assert done.stderr.count(f"the tier {folder}/tier of the host") == 1, done.stderr
    assert (folder / "file").read_bytes() == part(2)
    # Back on the first node.
    done = run("overwrite", folder)
    succeeded(done)
    for each in left:
        assert done.stderr.count(f"{each} has what was written") == 1, done.stderr
    assert logs(folder) == left
    done = staging("recover", str(folder / "tier"))
    assert done.returncode == 1, done.stdout
    assert done.stderr.count("--over-newer") == RANKS, done.stderr
    assert (folder / "file").read_bytes() == part(2)
    done = staging("recover", "--over-newer", str(folder / "tier"))
    succeeded(done)
    assert (folder / "file").read_bytes() == part(1)
    assert not logs(folder)


def restart_on_the_same_nodes_in_another_order_recovers(folder: Path) -> None:
    (folder / "other").mkdir()
    killed(folder, "tier other")
    assert len(logs(folder)) == 2
    assert len(logs(folder, "other")) == 1
    done = run("read", folder, JOB_TIERS="other tier")
    succeeded(done)
    assert "may have bytes" not in done.stderr, done.stderr
    assert (folder / "file").read_bytes() == part(1)
    assert not logs(folder) | logs(folder, "other")


def job_that_slurm_starts_again_supersedes(folder: Path) -> None:
    if "openmpi" in PROGRAM:
        print("Open MPI's starter gives each job a name of its own")
        return
    (folder / "other").mkdir()
    name = {"PMIX_NAMESPACE": "slurm.pmix.7.0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    killed(folder, **name)
    left = logs(folder)
    again = {**name, "SLURM_RESTART_COUNT": "1"}
    succeeded(run("overwrite", folder, JOB_TIERS="other", **again))
    done = run("overwrite", folder, **again)
    succeeded(done)
    for each in left:
        assert done.stderr.count(f"{each} has what was written") == 1, done.stderr
    assert logs(folder) == left
    assert (folder / "file").read_bytes() == part(2)


def older_of_two_jobs_fails(folder: Path) -> None:
    (folder / "other").mkdir()
    older, _ = started("older", folder)
    left = logs(folder)
    succeeded(run("overwrite", folder, JOB_TIERS="other"))
    older.communicate("\n", timeout=120)
    assert older.returncode == 0, older.returncode
    assert (folder / "file").read_bytes() == part(2)
    assert logs(folder) == left
    succeeded(staging("recover", "--over-newer", str(folder / "tier")))
    assert (folder / "file").read_bytes() == part(1)


def two_jobs_with_one_tier(folder: Path) -> None:
    older, _ = started("older", folder)
    left = logs(folder)
    succeeded(run("overwrite", folder))
    older.communicate("\n", timeout=120)
    assert older.returncode == 0, older.returncode
    assert (folder / "file").read_bytes() == part(2)
    assert logs(folder) == left


def ranks_that_open_alone_do_not_supersede(folder: Path) -> None:
    (folder / "other").mkdir()
    done = run("alone", folder, JOB_TIERS="tier other")
    succeeded(done)
    assert not logs(folder) | logs(folder, "other")


def deferred_close_is_waited_for_by_fewer_ranks(folder: Path) -> None:
    succeeded(run("fewer", folder, **{VARIABLE: written(folder, json.dumps(configuration(folder)))}))
    assert not logs(folder)


def file_of_killed_job_is_removed(folder: Path) -> None:
    killed(folder)
    orphans = logs(folder)
    (folder / "file").unlink()
    # The next job has logs of its own, and is killed as well.
    killed(folder)
    assert (folder / "file").stat().st_size == 0, "the file of a new job is written through"
    assert len(logs(folder) - orphans) == RANKS
    done = run("read", folder)
    succeeded(done)
    assert logs(folder) == orphans
    for orphan in orphans:
        assert f"{orphan} has what was written to an earlier file" in done.stderr, done.stderr
    assert "written through" not in done.stderr, done.stderr


def folder_of_another_user_is_left_alone(folder: Path) -> None:
    if os.geteuid() != 0:
        print("only root can give a folder to another user")
        return
    killed(folder)
    first = min(logs(folder))
    before = sorted((each.name, each.stat().st_size) for each in first.iterdir())
    os.chown(first, 65534, 65534)
    done = run("overwrite", folder)
    succeeded(done)
    assert f"{first} belongs to another user" in done.stderr, done.stderr
    assert "written through" not in done.stderr, done.stderr
    assert logs(folder) == {first}
    assert sorted((each.name, each.stat().st_size) for each in first.iterdir()) == before


def folder_of_a_task_is_recovered(folder: Path) -> None:
    # A program that writes the file alone has a folder without a number.
    killed(folder)
    first = min(logs(folder))
    first.rename(first.with_suffix(""))
    succeeded(run("read", folder))
    assert not logs(folder)


def folder_that_is_kept_is_no_news(folder: Path) -> None:
    for _ in range(2):
        done = run("keep", folder)
        succeeded(done)
        assert "an earlier run" not in done.stderr, done.stderr
        assert len(logs(folder)) == RANKS


def shared_pointer_is_told_once(folder: Path) -> None:
    done = run("shared", folder)
    succeeded(done)
    assert done.stderr.count("by a shared or ordered pointer is written through") == RANKS, done.stderr


def names_are_compared_with_what_the_program_opens(folder: Path) -> None:
    # A relative name, and a link: the file that is closed is the one that was opened by that name.
    (folder / "target").touch()
    (folder / "checkpoint.link").symlink_to(folder / "target")
    rule = configuration(folder)
    rule["files"][0]["names"] = [f"{folder}/checkpoint.*"]  # type: ignore[index]
    command = [STARTER, "-n", "1", PROGRAM, "link", "."]
    environment = {**os.environ, VARIABLE: written(folder, json.dumps(rule))}
    succeeded(hangs.run(command, env=environment, timeout=120, cwd=folder))


def memory_that_runs_out_is_an_error_of_mpi(folder: Path) -> None:
    succeeded(run("memory", folder))


for test in (
    killed_job_is_recovered,
    close_is_deferred,
    failure_of_deferred_close_is_told,
    broken_configurations_end_the_program,
    configuration_that_one_rank_cannot_read_ends_all,
    deferred_close_ends_in_finalize_of_fortran,
    file_of_killed_job_is_removed,
    folder_of_another_user_is_left_alone,
    folder_of_a_task_is_recovered,
    folder_that_is_kept_is_no_news,
    shared_pointer_is_told_once,
    names_are_compared_with_what_the_program_opens,
    restart_on_other_nodes_supersedes,
    restart_on_the_same_nodes_in_another_order_recovers,
    job_that_slurm_starts_again_supersedes,
    older_of_two_jobs_fails,
    two_jobs_with_one_tier,
    ranks_that_open_alone_do_not_supersede,
    deferred_close_is_waited_for_by_fewer_ranks,
    memory_that_runs_out_is_an_error_of_mpi,
):
    with tempfile.TemporaryDirectory() as name:
        Path(name, "tier").mkdir()
        test(Path(name))
