"""The page of a demonstration: one file of HTML without anything else, which shows what was run, what it took, and what follows from that."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1f2933}
td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}td.number{text-align:right}
.conclusion{font-size:1.15rem;border-left:4px solid #2f6f9f;padding-left:.8rem}"""


@dataclass(frozen=True)
class Row:
    """One way of doing the work: its runs in seconds, and its page if it has one."""

    name: str
    meaning: str
    seconds: Sequence[float]
    link: str | None = None

    @property
    def median(self) -> float:
        ordered = sorted(self.seconds)
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def conclusion(rows: Sequence[Row], base: Row) -> str:
    """What the figures say of the fastest way beside `base`, and no more than that: a gain is one if the slowest of its runs is faster than the fastest
    without."""
    best = min(rows, key=lambda row: row.median)
    if best is base or max(best.seconds) >= min(base.seconds):
        return f"Here nothing was gained: no other way is faster than '{base.name}' by more than its runs differ among themselves."
    told = f"'{best.name}' took {best.median / base.median:.0%} of the time of '{base.name}': {best.median:.2f} s in place of {base.median:.2f} s"
    return (
        f"{told}, in {len(base.seconds)} runs of each."
        if len(base.seconds) > 1
        else f"{told}. Each ran once: another run may say otherwise."
    )


def _bars(rows: Sequence[Row]) -> str:
    """The medians as bars, and the spread of the runs as a line over each."""
    width, height, left = 640, 34, 150
    longest = max(max(row.seconds) for row in rows)
    scale = (width - left - 90) / longest
    parts = []
    for number, row in enumerate(rows):
        top, middle = number * height, number * height + height / 2 - 2
        end = left + row.median * scale
        parts.append(f'<text x="{left - 8}" y="{middle + 5:.1f}" text-anchor="end">{html.escape(row.name)}</text>')
        parts.append(
            f'<rect x="{left}" y="{top + 4}" width="{end - left:.1f}" height="{height - 12}" fill="{"#9aa5b1" if not number else "#2f6f9f"}"/>'
        )
        first, last = (left + edge(row.seconds) * scale for edge in (min, max))
        parts.append(
            f'<line x1="{first:.1f}" x2="{last:.1f}" y1="{middle:.1f}" y2="{middle:.1f}" stroke="#1f2933" stroke-width="2"/>'
        )
        parts.append(f'<text x="{last + 8:.1f}" y="{middle + 5:.1f}">{row.median:.2f} s</text>')
    return f'<svg viewBox="0 0 {width} {height * len(rows)}" role="img" font-size="14" fill="#1f2933">{"".join(parts)}</svg>'  # fmt: skip


def write(path: Path, title: str, facts: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
    """The first row is what the others are compared with. Raises OSError."""
    told = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in facts)
    lines = []
    for row in rows:
        name = html.escape(row.name)
        name = f'<a href="{html.escape(row.link)}">{name}</a>' if row.link else name
        times = "".join(f'<td class="number">{s:.2f}</td>' for s in (row.median, min(row.seconds), max(row.seconds)))
        lines.append(f"<tr><td>{name}</td>{times}<td>{html.escape(row.meaning)}</td></tr>")
    path.write_text(
        f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>\n'
        f"<h1>{html.escape(title)}</h1>\n<p class=conclusion>{html.escape(conclusion(rows, rows[0]))}</p>\n{_bars(rows)}\n"
        f"<table><tr><th>way</th><th>median s</th><th>fastest</th><th>slowest</th><th></th></tr>{''.join(lines)}</table>\n"
        f"<h2>What was run</h2>\n<table>{told}</table>\n</html>\n",
        encoding="utf-8",
    )


def show(path: Path) -> None:
    """Opens it in a browser if somebody is there to look at it."""
    if sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(path.as_uri())
