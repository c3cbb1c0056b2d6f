"""Puts the page of a report together: HTML with its pictures inside."""

from __future__ import annotations

import html
from typing import Any

from .report_data import Run
from .report_figures import Drawn

_STYLE = """body{font-family:system-ui,sans-serif;color:#1f2933;margin:2rem auto;max-width:76rem;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}h3{font-size:1rem;margin-bottom:.2rem}
table{border-collapse:collapse;font-size:.92rem}td,th{padding:.25em .9em .25em 0;text-align:right;border-bottom:1px solid #e4e7eb}
td:first-child,th:first-child{text-align:left}.tiles{display:flex;flex-wrap:wrap;gap:1rem}
.tile{background:#f2f4f7;border-radius:.5rem;padding:.7rem 1.1rem}.tile b{display:block;font-size:1.5rem}
svg{max-width:100%;height:auto}.bad{color:#d64545}p.note{color:#616e7c;font-size:.9rem}"""


def _table(head: list[str], rows: list[list[Any]]) -> str:
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return "<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in head) + f"</tr>{cells}</table>"


def _tile(name: str, value: str) -> str:
    return f"<div class='tile'><b>{html.escape(value)}</b>{html.escape(name)}</div>"


def _summary(run: Run) -> str:
    tiles = [
        _tile("total", f"{run.length:.2f} s"),
        _tile("computing", f"{run.computing:.2f} s"),
        _tile("I/O", f"{run.io:.2f} s"),
        _tile("I/O hidden", "no I/O" if run.io <= 0 else f"{run.hidden / run.io:.0%}"),
        _tile(f"use of {run.workers} workers", f"{run.computed / max(run.length, 1e-9):.0%}"),
        _tile("of workers blocked", f"{run.blocked / max(run.length, 1e-9):.0%}"),
    ]
    tiles += [
        _tile(f"of workers waiting for {reason}", f"{seconds / max(run.length, 1e-9):.0%}")
        for reason, seconds in run.waits.items()
    ]
    return "<div class='tiles'>" + "".join(tiles) + "</div>"


def _kinds(run: Run) -> str:
    rows = [
        [kind, "I/O" if told["io"] else "compute", told["slices"], f"{told['seconds']:.3f}",
         f"{1e3 * told['seconds'] / told['slices']:.3f}", "-" if told["io"] else f"{told['blocked']:.3f}"]
        for kind, told in sorted(run.kinds.items(), key=lambda item: -item[1]["seconds"])
    ]  # fmt: skip
    return _table(["task type", "on", "slices", "seconds", "ms each", "blocked, s"], rows)


def _devices(run: Run) -> str:
    rows = []
    for device in run.devices:
        busy = device.get("busy_seconds", 0)
        rate = f"{device['bytes'] / 1e6 / busy:.1f}" if busy > 0 else "-"
        known = device["write_mb_per_second"]
        rows.append(
            [device["name"], device["tasks"], f"{device['bytes'] / 1e6:.1f}", f"{busy:.2f}", rate, device["most_running"],
             f"{known:g}" if known else "not measured"]
        )  # fmt: skip
    return _table(["device", "tasks", "MB", "busy, s", "MB/s", "most at once", "bandwidth, MB/s"], rows)


def _types(run: Run) -> str:
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
    return _table(["task type", "constraint", "tasks", "learning", "last, MB/s", "at once", "registry"], rows)


def compose(run: Run, drawn: Drawn, title: str, trace: str, picture: str) -> str:
    """The whole page."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
        _summary(run),
    ]
    if run.facts.get("lost_events", 0):
        parts.append(
            f"<p class='bad'>{run.facts['lost_events']} older events were lost: this is about the later part.</p>"
        )
    if run.failures:
        items = "".join(f"<li>{html.escape(text)}</li>" for text in run.failures[:20])
        parts.append(f"<h2 class='bad'>{len(run.failures)} failures</h2><ul>{items}</ul>")
    parts += ["<h2>Where the time went</h2>", drawn.split]
    parts.append(
        "<p class='note'>Computing: at least one worker runs a task that uses the processor. I/O: a request is in flight, or an I/O "
        "task runs. Hidden: of the I/O, what went on while a worker computed. Blocked: a task holds a worker and does not use the "
        "processor, because it is in a system call (make it an I/O task), waits for a lock or the interpreter, or for a "
        "processor that others use.</p>"
    )
    parts += ["<h2>Tasks</h2>", _kinds(run)]
    if run.devices:
        parts += ["<h2>Devices</h2>", _devices(run)]
        parts += [f"<h3>Throughput of {html.escape(name)}</h3>{svg}" for name, svg in drawn.throughput]
    if drawn.constraints or any(device.get("types") for device in run.devices):
        parts += ["<h2>Constraints</h2>", _types(run)]
        parts += [f"<h3>{html.escape(name)}</h3>{svg}" for name, svg in drawn.constraints]
        parts.append("<p class='note'>Yellow: learning.</p>" if drawn.constraints else "")
    parts += ["<h2>Timeline</h2>", drawn.timeline_svg]
    parts.append(
        f"<p class='note'>Also as <a href='{html.escape(picture)}'>picture</a>, and as "
        f"<a href='{html.escape(trace)}'>trace</a>, which opens at ui.perfetto.dev.</p></body></html>"
    )
    return "\n".join(parts)
