#!/usr/bin/env python3
"""Finds where samples differ from a genome, by bwa, samtools and bcftools (I/O-aware PyCOMPSs, section 5.2.2).

The genome is that of the lambda phage. The reads are those of bowtie2-examples, dealt out to samples, each of which comes in two lanes. For each
sample: reads as FASTQ, mapping, sorting, merging of lanes, marking of duplicates, read groups, calling of variants. Each major step has a
checkpoint. Their sizes have the proportions of table 1 of the paper on I/O-aware PyCOMPSs (docs/papers.md); `--checkpoint-mb` is the size for the
mapped reads. The variants must be those that the same commands find one after the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "strategies"))

import experiment  # noqa: E402
from strategy import io_task, write_durably  # noqa: E402

from tools import bytes_of, call, folder_of, need  # noqa: E402

EXAMPLES = "/usr/share/doc/bowtie2/examples"
LANES = 2
# Of table 1: MB written by each checkpoint, and how many there are of it for a sample.
SIZES = {"fastq": 162, "mapped": 290, "merged": 330, "marked": 596, "grouped": 615}
NUMBERS = {"fastq": LANES, "mapped": 2 * LANES, "merged": 1, "marked": 1, "grouped": 1}


def to_fastq(reads: Path, fastq: Path) -> None:
    call("samtools", "fastq", "-n", reads, output=fastq)


def bwa_map(genome: Path, fastq: Path, sample: str, mapped: Path) -> None:
    call("bwa", "mem", "-v", 1, "-t", 1, "-p", "-R", f"@RG\\tID:{sample}\\tSM:{sample}", genome, fastq, output=mapped)


def sort(mapped: Path, ordered: Path) -> None:
    call("samtools", "sort", "--no-PG", "-n", "-o", ordered, mapped)


def merge(lanes: list[Path], merged: Path) -> None:
    call("samtools", "merge", "--no-PG", "-n", "-f", "-c", merged, *lanes)


def mark_duplicates(merged: Path, marked: Path) -> None:
    mates = call("samtools", "fixmate", "--no-PG", "-m", "-u", merged, "-")
    placed = call("samtools", "sort", "--no-PG", "-u", "-", data=mates)
    call("samtools", "markdup", "--no-PG", "-", marked, data=placed)


def group_reads(marked: Path, sample: str, grouped: Path) -> None:
    call("samtools", "addreplacerg", "--no-PG", "-w", "-r", f"@RG\tID:{sample}\tSM:{sample}", "-o", grouped, marked)


def call_variants(genome: Path, grouped: Path) -> list[str]:
    piled = call("bcftools", "mpileup", "-Ou", "-f", genome, grouped)
    found = call("bcftools", "call", "-mv", "--ploidy", 1, "-Ov", "-", data=piled)
    return [line for line in found.decode().splitlines() if not line.startswith("##")]


class Variants:
    name = "variants"
    about = __doc__
    # Copying what is written takes a core's time, too. At 100 MB/s for a few cores that counts for little, as it did on the machine of the paper
    # on I/O-aware PyCOMPSs (docs/papers.md), where 48 cores had 450.
    peak = 100.0

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--samples", type=int, default=12)
        parser.add_argument("--pairs", type=int, help="of reads (default: all 10 000)")
        parser.add_argument(
            "--checkpoint-mb",
            type=float,
            help="of mapped reads (default: what the device takes about as long to write as the cores to compute)",
        )

    def prepare(self, arguments: argparse.Namespace, data: Path) -> str:
        need("bwa", "bwa")
        need("samtools", "samtools")
        need("bcftools", "bcftools")
        examples = folder_of("bowtie2-examples", EXAMPLES)
        genome = data / "genome.fa"
        genome.write_bytes(bytes_of(examples / "reference" / "lambda_virus.fa"))
        call("bwa", "index", genome)
        call("samtools", "faidx", genome)
        whole = bytes_of(examples / "reads" / "combined_reads.bam")
        lines = call("samtools", "view", "-h", "-f", 1, "-", data=whole).splitlines(keepends=True)
        head = b"".join(line for line in lines if line.startswith(b"@"))
        pairs: dict[bytes, list[bytes]] = {}
        for line in lines:
            if not line.startswith(b"@"):
                pairs.setdefault(line.split(b"\t", 1)[0], []).append(line)
        reads = [b"".join(pair) for pair in pairs.values() if len(pair) == 2][: arguments.pairs]
        count = arguments.samples * LANES
        if not 1 <= count <= len(reads):
            raise ValueError(f"there are {len(reads)} pairs of reads for {arguments.samples} samples")
        for number in range(count):
            text = head + b"".join(reads[number::count])
            (data / f"reads-{number // LANES}-{number % LANES}.bam").write_bytes(
                call("samtools", "view", "--no-PG", "-b", "-", data=text)
            )
        if arguments.checkpoint_mb is None:
            megabytes = (arguments.peak or self.peak) * self.seconds_of_a_sample(arguments, data)
            arguments.checkpoint_mb = round(
                megabytes * SIZES["mapped"] / sum(SIZES[step] * NUMBERS[step] for step in SIZES), 3
            )
        # The runs, in processes of their own, write as much.
        (data / "checkpoint-mb").write_text(str(arguments.checkpoint_mb))
        total = self.bytes_in_all(arguments) / 1e6
        return f"{len(reads)} pairs of reads of the lambda phage in {arguments.samples} samples; checkpoints: {total:.0f} MB"

    def size(self, checkpoint_mb: float, step: str) -> int:
        return round(checkpoint_mb * 1e6 * SIZES[step] / SIZES["mapped"])

    def bytes_in_all(self, arguments: argparse.Namespace) -> int:
        return sum(self.size(arguments.checkpoint_mb, step) * NUMBERS[step] for step in SIZES) * arguments.samples

    def seconds_of_a_sample(self, arguments: argparse.Namespace, data: Path) -> float:
        """All cores computing, after once for practice."""
        cores = experiment.cores_of(arguments)

        def one(number: int) -> None:
            with tempfile.TemporaryDirectory(dir=data) as scratch:
                self.by_hand(data, number, Path(scratch))

        return experiment.seconds_of_each(one, [number % arguments.samples for number in range(3 * cores)], cores)

    def run(self, arguments: argparse.Namespace, data: Path, target: Path, strategy: str) -> Any:
        import dovetail as dt

        genome = data / "genome.fa"
        checkpoint_mb = float((data / "checkpoint-mb").read_text())
        written = []

        def checkpoint(step: str) -> Callable[[Path], None]:
            size = self.size(checkpoint_mb, step)

            def write(made: Path) -> int:
                return write_durably(target / f"{step}-{made.name}", made.read_bytes(), size)

            write.__name__ = f"checkpoint_{step}"
            task = io_task(strategy, target)(write)
            return lambda made: written.append(task(made))

        def step(function: Callable[..., Any]) -> Any:
            """A task that gives the path of what it makes, its last argument."""

            def make(*words: Any) -> Path:
                function(*words)
                return words[-1]

            make.__name__ = function.__name__
            return dt.task(make)

        checkpoints = {name: checkpoint(name) for name in SIZES}
        fastq_of, mapped_of, sorted_of, merged_of = step(to_fastq), step(bwa_map), step(sort), step(merge)
        marked_of, grouped_of, found_in = step(mark_duplicates), step(group_reads), dt.task(call_variants)
        with tempfile.TemporaryDirectory(prefix="variants-") as folder:
            results = []
            for number in range(arguments.samples):
                sample, here = f"sample{number}", Path(folder)
                lanes = []
                for lane in range(LANES):
                    name = f"{sample}-{lane}"
                    fastq = fastq_of(data / f"reads-{number}-{lane}.bam", here / f"{name}.fastq")
                    checkpoints["fastq"](fastq)
                    mapped = mapped_of(genome, fastq, sample, here / f"{name}.sam")
                    checkpoints["mapped"](mapped)
                    lanes.append(sorted_of(mapped, here / f"{name}.bam"))
                    checkpoints["mapped"](lanes[-1])
                merged = merged_of(lanes, here / f"{sample}-merged.bam")
                checkpoints["merged"](merged)
                marked = marked_of(merged, here / f"{sample}-marked.bam")
                checkpoints["marked"](marked)
                grouped = grouped_of(marked, sample, here / f"{sample}-grouped.bam")
                checkpoints["grouped"](grouped)
                results.append(found_in(genome, grouped))
            found = dt.wait(results)
            return {"variants": found, "bytes": sum(dt.wait(written))}

    def reference(self, arguments: argparse.Namespace, data: Path, scratch: Path) -> Any:
        found = [self.by_hand(data, number, scratch) for number in range(arguments.samples)]
        return {"variants": found, "bytes": self.bytes_in_all(arguments)}

    def by_hand(self, data: Path, number: int, scratch: Path) -> list[str]:
        genome, sample, lanes = data / "genome.fa", f"sample{number}", []
        for lane in range(LANES):
            to_fastq(data / f"reads-{number}-{lane}.bam", scratch / "fastq")
            bwa_map(genome, scratch / "fastq", sample, scratch / "mapped")
            lanes.append(scratch / f"sorted-{lane}.bam")
            sort(scratch / "mapped", lanes[-1])
        merge(lanes, scratch / "merged.bam")
        mark_duplicates(scratch / "merged.bam", scratch / "marked.bam")
        group_reads(scratch / "marked.bam", sample, scratch / "grouped.bam")
        return call_variants(genome, scratch / "grouped.bam")

    def differs(self, result: Any, reference: Any) -> str | None:
        if not any(len(lines) > 1 for lines in reference["variants"]):
            return "the commands by hand found no variant"
        for number, (got, expected) in enumerate(zip(result["variants"], reference["variants"], strict=True)):
            # The line above the variants names the file.
            if got[1:] != expected[1:]:
                return f"{len(got) - 1} variants in sample {number}, by hand {len(expected) - 1}, and not the same"
        if result["bytes"] != reference["bytes"]:
            return f"{result['bytes']} bytes were written, not {reference['bytes']}"
        return None


if __name__ == "__main__":
    sys.exit(experiment.main(Variants()))
