#!/usr/bin/env python3
"""The heat example three ways side by side, on the real disk and on a slow one; then killed and continued.

Writes into the output folder: a trace of every run (open it at https://ui.perfetto.dev) and a picture of the runs on
the slow disk. Exit status: 1 if a run failed or two results differ, 2 for bad input.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("bench/devices", "tools", "examples/demonstration")]

import demonstration  # noqa: E402
import prepare_field  # noqa: E402
from bar import Bar  # noqa: E402
from demo_display import table  # noqa: E402
from heat_runs import VARIANTS, Job, follow, run  # noqa: E402
from plain_trace import add_requests, without_plain_calls  # noqa: E402

REAL, SLOW = "real disk", "slow disk"
CALIBRATION, INTERRUPTION, PICTURES = "calibration", "kill and restart", "pictures"
CHECKPOINTS = 10  # how often the field is written, the final one included


class Demo:
    """One demonstration. `compute_seconds` is what the computation of one run is to take."""

    def __init__(
        self, program: Path, folders: tuple[Path, Path], size: int, block: int, compute_seconds: float, direct: str
    ) -> None:
        self._output, self._scratch = folders
        self._compute_seconds = compute_seconds
        self._rows: list[tuple[str, str, dict]] = []
        self._results: dict[str, str] = {}
        self._job = Job(program, self._scratch / "field", size, block, 0, 0, direct)
        self._megabytes = size * size * 8 / 1e6
        runs = {f"{device}, {variant}": 1.3 * compute_seconds for device in (REAL, SLOW) for variant in VARIANTS}
        runs[f"{SLOW}, plain"] *= 1.5
        self._bar = Bar({CALIBRATION: 1, **runs, INTERRUPTION: 2 * compute_seconds, PICTURES: 4})

    def close(self) -> None:
        self._bar.clear()

    def say(self, text: str) -> None:
        self._bar.clear()
        print(text, flush=True)

    def prepare(self) -> None:
        self.say("field      " + prepare_field.prepare(self._job.field))
        self._bar.begin(CALIBRATION)
        # Long enough that start-up and a cold core do not count; the fastest of three, because what disturbs only slows down.
        steps, times = 20, []
        while len(times) < 3:
            report = run(replace(self._job, steps=steps), self._scratch / "calibration", "pausing")
            shutil.rmtree(self._scratch / "calibration")
            if report["compute_s"] < self._compute_seconds / 20:
                steps, times = steps * 4, []
            else:
                times.append(report["compute_s"] / steps)
        self._step_seconds = min(times)
        every = max(1, round(self._compute_seconds / self._step_seconds / CHECKPOINTS))
        self._job = replace(self._job, steps=every * CHECKPOINTS, checkpoint_every=every)
        self._bar.end()
        io = "past the page cache" if report["direct"] else "through the page cache"
        self.say(
            f"job        {self._job.size} x {self._job.size} cells in blocks of {self._job.block} x {self._job.block},"
            f" {self._job.steps} steps, a checkpoint of {self._megabytes:.1f} MB every {every} steps, {io};"
            f" {report['workers']} workers"
        )

    def slow_bandwidth(self) -> float:
        """MB/s at which writing a checkpoint takes as long as computing until the next."""
        return max(1.0, self._megabytes / (self._job.checkpoint_every * self._step_seconds))

    def run_variants(self, device: str, folder: Path) -> None:
        for variant in VARIANTS:
            phase = f"{device}, {variant}"
            self._bar.begin(phase)
            directory = folder / f"heat-{variant}"
            trace = self._output / f"trace-{device.replace(' ', '-')}-{variant}.json"
            report = run(self._job, directory, variant, self._bar.show, trace=trace)
            if variant == "plain":
                add_requests(trace, report)
            self._rows.append((device, variant, report))
            self._keep_result(phase, directory)
            shutil.rmtree(directory)
            self._bar.end()

    def run_on_real_disk(self) -> None:
        self.run_variants(REAL, self._scratch)

    def run_on_slow_disk(self) -> None:
        from slow_disk import SlowDisk, SlowDiskUnavailable

        bandwidth = self.slow_bandwidth()
        try:
            # Three checkpoints, the final field, and room for the journal.
            with SlowDisk(bandwidth, bandwidth, int(5 * self._megabytes) + 64, self._scratch) as disk:
                self.say(f"{SLOW}  {disk.device}, an ext4 file system limited to {bandwidth:.0f} MB/s by the kernel")
                self.run_variants(SLOW, disk.path)
        except SlowDiskUnavailable as error:
            self.say(f"{SLOW}  left out: {error}")
            self._bar.drop([f"{SLOW}, {variant}" for variant in VARIANTS])

    def interrupt(self) -> None:
        self._bar.begin(INTERRUPTION)
        directory = self._scratch / "interrupted"
        status = follow(self._job.command(directory, "pausing"), lambda share: self._bar.show(share / 2), kill_at=0.5)
        if status == 0:
            self.say("kill       the run ended before it could be killed")
            return
        report = directory.with_suffix(".json")
        command = self._job.command(directory, "pausing", restart=True, json=report)
        follow(command, lambda share: self._bar.show(0.5 + share / 2))
        step = json.loads(report.read_text())["restarted_from"]
        self._keep_result("killed and restarted", directory)
        self._bar.end()
        self.say(f"kill -9    half way; --restart went on from step {step} of {self._job.steps}")

    def _keep_result(self, name: str, directory: Path) -> None:
        with (directory / "final.heat").open("rb") as file:
            self._results[name] = hashlib.file_digest(file, "sha256").hexdigest()

    def results_agree(self) -> bool:
        different = set(self._results.values())
        if len(different) == 1:
            self.say(
                f"results    all {len(self._results)} final fields are the same bytes (SHA-256 {different.pop()[:16]}...)"
            )
            return True
        self.say("results    DIFFER:\n" + "\n".join(f"  {digest} {name}" for name, digest in self._results.items()))
        return False

    def draw(self) -> None:
        """One picture of the three runs on the last device, one below the other on the same time axis."""
        from PIL import Image
        from timeline import render

        self._bar.begin(PICTURES)
        device = self._rows[-1][0]
        seconds = max(report["total_s"] for at, _, report in self._rows if at == device)
        parts = []
        for number, variant in enumerate(VARIANTS):
            trace = self._output / f"trace-{device.replace(' ', '-')}-{variant}.json"
            if variant == "plain":
                trace = without_plain_calls(trace, self._scratch / trace.name)
            picture = self._scratch / f"{variant}.png"
            render(trace, picture, f"heat, {device}, {variant}", seconds)
            parts.append(Image.open(picture).convert("RGB"))
            self._bar.show((number + 1) / len(VARIANTS))
        whole = Image.new("RGB", (max(part.width for part in parts), sum(part.height for part in parts)), "white")
        top = 0
        for part in parts:
            whole.paste(part, (0, top))
            top += part.height
        target = self._output / f"timeline-{device.replace(' ', '-')}.png"
        whole.save(target)
        self._bar.end()
        self.say(f"timelines  {target}\n           {self._output}/trace-*.json open at https://ui.perfetto.dev")

    def show_table(self) -> None:
        self.say("\n" + table(self._rows) + "\n")
        print("I/O s: time with an I/O operation in flight. I/O hidden: of it, the share in which a worker computes.")


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    program = arguments.build_dir / "bin" / "heat"
    if not program.is_file():
        raise demonstration.BadInput(f"{program} is missing: `make demo-heat` or `make examples` builds it")
    size, block, seconds = (512, 64, 0.5) if arguments.small else (2048, 256, 5.0)
    demo = Demo(program, (output, scratch), size, block, seconds, arguments.direct)
    try:
        demonstration.say_if_busy(demo.say)
        demo.prepare()
        demo.run_on_real_disk()
        demo.run_on_slow_disk()
        demo.interrupt()
        demo.draw()
        demo.show_table()
        return 0 if demo.results_agree() else 1
    finally:
        demo.close()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--direct", choices=("never", "automatic"), default="automatic", help="as for heat")


if __name__ == "__main__":
    sys.exit(demonstration.main(__doc__, demonstrate, options=options))
