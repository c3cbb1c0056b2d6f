"""The table at the end of the demonstration."""

from __future__ import annotations

from demonstration import aligned

HEADINGS = ("device", "I/O variant", "total s", "compute s", "I/O s", "I/O hidden", "MB/s", "speed-up")


def table(rows: list[tuple[str, str, dict]]) -> str:
    """Rows of (device, variant, report), those of one device next to each other and `plain` among them."""
    plain = {device: report["total_s"] for device, variant, report in rows if variant == "plain"}
    cells = [HEADINGS]
    for device, variant, report in rows:
        cells.append(
            (
                device,
                variant,
                f"{report['total_s']:.2f}",
                f"{report['compute_s']:.2f}",
                f"{report['io_s']:.2f}",
                f"{100 * report['hidden_share']:.0f} %",
                f"{report['bandwidth_mb_s']:.0f}",
                f"{plain[device] / report['total_s']:.2f} x",
            )
        )
    shown = [
        row if row[0] != before[0] else ("", *row[1:]) for before, row in zip([("",), *cells], cells, strict=False)
    ]
    lines = aligned(shown, 2)
    rule = "-" * max(len(line) for line in lines)
    whole = []
    for row, line in zip(shown, lines, strict=True):
        whole += [rule, line] if row[0] and whole else [line]
    return "\n".join(whole)
