"""Puts the page of a report together: HTML with its pictures inside, from the template report_page.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .report_data import Run
from .report_figures import Drawn


def _share_of(seconds: float, whole: float) -> str:
    return f"{seconds / max(whole, 1e-9):.0%}"


def _kinds(run: Run) -> list[list[Any]]:
    return [
        [kind, "I/O" if told["io"] else "compute", told["slices"], f"{told['seconds']:.3f}",
         f"{1e3 * told['seconds'] / told['slices']:.3f}", "-" if told["io"] else f"{told['blocked']:.3f}"]
        for kind, told in sorted(run.kinds.items(), key=lambda item: -item[1]["seconds"])
    ]  # fmt: skip


def _devices(run: Run) -> list[list[Any]]:
    rows = []
    for device in run.devices:
        busy = device.get("busy_seconds", 0)
        rate = f"{device['bytes'] / 1e6 / busy:.1f}" if busy > 0 else "-"
        known = device["write_mb_per_second"]
        rows.append(
            [device["name"], device["tasks"], f"{device['bytes'] / 1e6:.1f}", f"{busy:.2f}", rate, device["most_running"],
             f"{known:g}" if known else "not measured"]
        )  # fmt: skip
    return rows


def _types(run: Run) -> list[list[Any]]:
    rows = []
    for device in run.devices:
        for kind in device.get("types", []):
            now = kind["current_mb_per_second"]
            learned = ", ".join(
                f"{entry['mb_per_second']:g}: {entry['seconds'] * 1e3:.1f} ms" for entry in kind["registry"]
            )
            rows.append(
                [kind["label"], kind["constraint"], kind["tasks"], kind["tasks_learning"], f"{now:g}" if now else "-",
                 kind["at_once"], learned or "-"]
            )  # fmt: skip
    return rows


def _overlap(run: Run) -> list[list[Any]]:
    """What may be hidden behind computation, and how much of it is."""
    rows = []
    for name, whole, hidden in (
        ("I/O", run.io, run.hidden),
        ("communication", run.communication, run.communication_hidden),
    ):
        if whole > 0:
            rows.append([name, f"{whole:.3f}", f"{hidden:.3f}", f"{whole - hidden:.3f}", _share_of(hidden, whole)])
    return rows


def compose(run: Run, drawn: Drawn, title: str, trace: str, picture: str) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["share_of"] = _share_of
    return environment.get_template("report_page.html").render(
        run=run, drawn=drawn, title=title, trace=trace, picture=picture,
        overlap=_overlap(run), kinds=_kinds(run), devices=_devices(run), types=_types(run),
    )  # fmt: skip
