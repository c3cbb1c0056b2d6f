#!/usr/bin/env python3
"""Searches sequences with profiles, fragment against fragment, by Debian's HMMER (I/O-aware PyCOMPSs, section 5.2.1).

Sequences and profiles are those of hmmer-examples; the sequences are replicated. A task runs hmmsearch on a fragment of
either. A checkpoint task writes what it found. The real results of small data are small, so it repeats them up to `--checkpoint-mb`: then writing
takes as long as computing. Further tasks gather the results, by fragment of the sequences and of all. They must be those of one hmmsearch of
everything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "strategies"))

import experiment  # noqa: E402
from strategy import io_task, write_durably  # noqa: E402

from tools import bytes_of, call, folder_of, need  # noqa: E402

EXAMPLES = "/usr/share/doc/hmmer/examples"
# The size of the search space, on which the significance of a hit depends: that of no fragment.
SPACE = 100000


def parts(items: list[bytes], count: int) -> list[bytes]:
    """In turn, so that parts take about equally long."""
    return [b"".join(items[k::count]) for k in range(count)]


def sequences_of(folder: Path) -> list[tuple[str, str]]:
    """Names and residues of the tutorial's sequences, which are in two formats."""
    found = []
    for path in ("globins45.fa", "7LESS_DROME", "HBB_HUMAN"):
        text = bytes_of(folder / path).decode()
        if text.startswith(">"):
            for entry in text[1:].split("\n>"):
                head, _, residues = entry.partition("\n")
                found.append((head.split()[0], residues.replace("\n", "")))
        else:
            residues = text.split("\nSQ ", 1)[1].split("\n", 1)[1].split("//")[0]
            found.append((path, "".join(residues.split())))
    return found


def profiles_of(folder: Path) -> list[bytes]:
    """The profiles of proteins, each in the text of its own."""
    found = []
    for path in sorted([*folder.glob("tutorial/*.hmm*"), *folder.glob("testsuite/*.hmm*")]):
        text = bytes_of(path)
        if text.startswith(b"HMMER3") and text.count(b"\nALPH  amino") == 1:
            found.append(
                call("hmmconvert", "-", data=text)
            )  # one file holds profiles of one version of the format only
    return found


def hits(table: bytes) -> list[str]:
    """The lines of a table of hmmsearch, without what differs from run to run."""
    return sorted(line for line in table.decode().splitlines() if not line.startswith("#"))


def search(profiles: Path, sequences: Path, table: Path, output: Path) -> None:
    space = ("-Z", SPACE, "--domZ", SPACE)
    call("hmmsearch", "--cpu", 0, *space, "--tblout", table, "-o", output, profiles, sequences)


class Hmmer:
    name = "hmmer"
    about = __doc__
    # Copying what is written takes a core's time, too. At 100 MB/s for a few cores that counts for little, as it did on the machine of the paper
    # on I/O-aware PyCOMPSs (docs/papers.md), where 48 cores had 450.
    peak = 100.0

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--copies", type=int, default=256, help="of each sequence (256)")
        parser.add_argument("--sequence-fragments", type=int, default=24)
        parser.add_argument("--profile-fragments", type=int, default=6)
        parser.add_argument(
            "--checkpoint-mb",
            type=float,
            help="of each search (as much as the device writes while one search is computed)",
        )

    def prepare(self, arguments: argparse.Namespace, data: Path) -> str:
        need("hmmer", "hmmsearch", "hmmconvert")
        examples = folder_of("hmmer-examples", EXAMPLES)
        known = sequences_of(examples / "tutorial")
        entries = [f">{name}-{copy}\n{text}\n".encode() for copy in range(arguments.copies) for name, text in known]
        profiles = profiles_of(examples)
        if not 1 <= arguments.profile_fragments <= len(profiles) or not 1 <= arguments.sequence_fragments <= len(
            entries
        ):
            raise ValueError(f"there are {len(profiles)} profiles and {len(entries)} sequences to make fragments of")
        for kind, items, count in (
            ("profiles", profiles, arguments.profile_fragments),
            ("sequences", entries, arguments.sequence_fragments),
        ):
            (data / kind).write_bytes(b"".join(items))
            for number, part in enumerate(parts(items, count)):
                (data / f"{kind}-{number}").write_bytes(part)
        searches = arguments.profile_fragments * arguments.sequence_fragments
        if arguments.checkpoint_mb is None:
            peak = arguments.peak or self.peak
            arguments.checkpoint_mb = round(peak * self.seconds_of_a_search(arguments, data), 2)
        # The runs, in processes of their own, write as much.
        (data / "checkpoint-mb").write_text(str(arguments.checkpoint_mb))
        return (
            f"{len(entries)} sequences in {arguments.sequence_fragments} fragments, {len(profiles)} profiles in "
            f"{arguments.profile_fragments}: {searches} searches; checkpoints: {searches * arguments.checkpoint_mb:.0f} MB"
        )

    def seconds_of_a_search(self, arguments: argparse.Namespace, data: Path) -> float:
        """All cores searching, after once for practice."""
        pairs = [(p, s) for s in range(arguments.sequence_fragments) for p in range(arguments.profile_fragments)][:24]

        def one(pair: tuple[int, int]) -> None:
            profile, sequence = pair
            output = data / f"timed-{profile}-{sequence}"
            search(data / f"profiles-{profile}", data / f"sequences-{sequence}", output, output)

        return experiment.seconds_of_each(one, pairs, experiment.cores_of(arguments))

    def run(self, arguments: argparse.Namespace, data: Path, target: Path, strategy: str) -> Any:
        import tempfile

        import dovetail as dt

        size = round(float((data / "checkpoint-mb").read_text()) * 1e6)

        @dt.task(returns=2)
        def hmmsearch(scratch: Path, profile: int, sequence: int) -> tuple[bytes, bytes]:
            table, output = scratch / f"{profile}-{sequence}.table", scratch / f"{profile}-{sequence}.output"
            search(data / f"profiles-{profile}", data / f"sequences-{sequence}", table, output)
            return table.read_bytes(), output.read_bytes()

        @io_task(strategy, target)
        def checkpoint_fragment(path: Path, found: bytes) -> int:
            return write_durably(path, found, size)

        @dt.task(priority=1)
        def gather_profiles(tables: list[bytes]) -> list[str]:
            return hits(b"".join(tables))

        @dt.task(priority=1)
        def gather_sequences(found: list[list[str]]) -> list[str]:
            return sorted(line for lines in found for line in lines)

        with tempfile.TemporaryDirectory(prefix="hmmer-") as folder:
            written, gathered = [], []
            for sequence in range(arguments.sequence_fragments):
                tables = []
                for profile in range(arguments.profile_fragments):
                    table, output = hmmsearch(Path(folder), profile, sequence)
                    tables.append(table)
                    written.append(checkpoint_fragment(target / f"found-{profile}-{sequence}", output))
                gathered.append(gather_profiles(tables))
            found = dt.wait(gather_sequences(gathered))
            return {"hits": found, "bytes": sum(dt.wait(written)), "files": len(list(target.glob("found-*")))}

    def reference(self, arguments: argparse.Namespace, data: Path, scratch: Path) -> Any:
        search(data / "profiles", data / "sequences", scratch / "table", scratch / "output")
        files = arguments.profile_fragments * arguments.sequence_fragments
        lines = hits((scratch / "table").read_bytes())
        return {"hits": lines, "bytes": files * round(arguments.checkpoint_mb * 1e6), "files": files}

    def differs(self, result: Any, reference: Any) -> str | None:
        if not reference["hits"]:
            return "the search by hand found nothing"
        if result["hits"] != reference["hits"]:
            other = set(result["hits"]) ^ set(reference["hits"])
            return f"{len(result['hits'])} hits, by hand {len(reference['hits'])}; {len(other)} lines are in one of them only"
        for key in ("bytes", "files"):
            if result[key] != reference[key]:
                return f"{result[key]} {key} were written, not {reference[key]}"
        return None


if __name__ == "__main__":
    sys.exit(experiment.main(Hmmer()))
