"""`dovetail plan`: shows what a plan says, as a table and as a picture, and makes one plan of several."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .plan import Extent, Plan, PlanError, PlannedFile, Seen, read, write
from .plan_report import table

_BAD_USAGE = 2
_MOST_IN_PICTURE = 8
_LEAST_PART = 50


def _table(plan: Plan) -> list[str]:
    rows = [("reads from", "to", "runs", "MB", "of MB", "back", "file")]
    for file in plan.files:
        if not file.extents:
            rows.append(("", "", "0", "mapped", f"{file.size / 1e6:.1f}", "", file.path))
            continue
        back = sum(one.offset > other.offset for one, other in zip(file.extents, file.extents[1:], strict=False))
        rows.append(
            (
                f"{file.extents[0].at:.3f} s",
                f"{file.extents[-1].at:.3f} s",
                str(len(file.extents)),
                f"{file.bytes / 1e6:.1f}",
                f"{file.size / 1e6:.1f}",
                str(back),
                file.path,
            )
        )
    return table(rows)


def _estimate(plan: Plan) -> Iterator[str]:
    """What following the plan takes at least, of devices that were measured."""
    for number, device in plan.devices.items():
        files = [file for file in plan.files if file.device == number and file.extents]
        requests = bytes_ = 0
        for file in files:
            joined = _joined(file, device.of_a_request)
            requests += len(joined)
            bytes_ += sum(end - begin for begin, end in joined)
        extents = [extent for file in files for extent in file.extents]
        observed = max((extent.at for extent in extents), default=0.0)
        # Of several processes that compute at the same time.
        computed = min(sum(extent.think for extent in extents), observed)
        least = max(requests / device.requests, bytes_ / device.bytes)
        yield (
            f"device {os.major(number)}:{os.minor(number)}, measured: {device.requests:.0f} requests or {device.bytes / 1e6:.0f} MB a second. "
            f"{len(extents)} runs become {requests} requests for {bytes_ / 1e6:.1f} MB, which take {least:.2f} s at least"
        )
        yield (
            f"  the program computed for {computed:.2f} s of the {observed:.2f} s until its last read: "
            f"with the plan at least {max(least, computed):.2f} s"
        )


def _joined(file: PlannedFile, gap: float) -> list[tuple[int, int]]:
    """All that is read, with gaps that cost less than a request."""
    joined: list[tuple[int, int]] = []
    for extent in sorted(file.extents, key=lambda extent: extent.offset):
        if joined and extent.offset - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], extent.end)
        else:
            joined.append((extent.offset, extent.end))
    return joined


def _draw(plan: Plan, picture: Path) -> None:
    """Offset over time, of the files of which most is read."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    files = sorted((file for file in plan.files if file.extents), key=lambda file: -file.bytes)[:_MOST_IN_PICTURE]
    # Beside the data of a program its modules and settings show nothing.
    files = [file for file in files if file.bytes * _LEAST_PART >= files[0].bytes]
    figure, panels = pyplot.subplots(max(1, len(files)), 1, squeeze=False, figsize=(8, 2.5 * max(1, len(files)) + 1))
    for panel, file in zip(panels[:, 0], files, strict=False):
        # From the first byte of each run to its last.
        panel.vlines(
            [extent.at for extent in file.extents],
            [extent.offset / 1e6 for extent in file.extents],
            [extent.end / 1e6 for extent in file.extents],
            linewidth=1.5,
        )
        # A run of some pages in a large file would be thinner than a dot.
        panel.plot(
            [extent.at for extent in file.extents],
            [(extent.offset + extent.bytes / 2) / 1e6 for extent in file.extents],
            linestyle="none",
            marker=".",
            markersize=2.5,
        )
        panel.set_title(file.path, fontsize="small")
        panel.set_ylabel("offset (MB)")
    panels[-1, 0].set_xlabel("time (s)")
    figure.tight_layout()
    figure.savefig(picture)
    pyplot.close(figure)


def show(path: Path, picture: Path | None) -> int:
    """Prints a plan. Returns the exit status."""
    try:
        plan = read(path)
    except PlanError as error:
        return _refuse(str(error))
    print(" ".join(plan.program))
    print("\n".join(_table(plan)) if plan.files else "nothing was read")
    for line in _estimate(plan):
        print(line)
    if picture is not None:
        try:
            _draw(plan, picture)
        except ImportError:
            return _refuse("--picture needs matplotlib: pip install matplotlib")
        except (OSError, ValueError) as error:
            return _refuse(f"{picture}: {error}")
    return 0


def _merged(files: list[PlannedFile]) -> PlannedFile:
    newest = files[-1]
    merged = PlannedFile(newest.path, newest.device, newest.inode, newest.size, newest.modified)
    seen = Seen()
    same = [file for file in files if (file.size, file.modified) == (newest.size, newest.modified)]
    for extent in sorted((extent for file in same for extent in file.extents), key=lambda extent: extent.at):
        waited = extent.waited
        for low, high in seen.add(extent.offset, extent.end):
            merged.extents.append(Extent(low, high - low, extent.at, extent.think, waited))
            waited = None if waited is None else 0.0
    merged.mapped = sorted({pair for file in same for pair in file.mapped})
    return merged


def merge(paths: list[Path], output: Path) -> int:
    """Writes one plan of several runs. Of a file that has changed between them, what the last one says counts. Returns the exit status."""
    try:
        plans = [read(path) for path in paths]
    except PlanError as error:
        return _refuse(str(error))
    files: dict[tuple[int, int], list[PlannedFile]] = {}
    for plan in plans:
        for file in plan.files:
            files.setdefault((file.device, file.inode), []).append(file)
    try:
        devices = {number: device for plan in plans for number, device in plan.devices.items()}
        write(Plan(plans[-1].program, [_merged(each) for each in files.values()], devices), output)
    except OSError as error:
        return _refuse(f"{output}: {error.strerror}")
    return 0


def _refuse(text: str) -> int:
    print(f"dovetail plan: {text}", file=sys.stderr)
    return _BAD_USAGE
