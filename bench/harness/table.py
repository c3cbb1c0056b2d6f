"""From results to the one table: a row for every contender and for every target."""

import statistics
from dataclasses import asdict, dataclass

from harness.entry import Benchmark, Target
from harness.runner import Result

HEADER = ("benchmark", "contender", "median", "min", "max", "CPU", "ratio", "target", "verdict")


@dataclass
class Row:
    benchmark: str = ""
    contender: str = ""
    median: str = ""
    least: str = ""
    most: str = ""
    cpu: str = ""
    ratio: str = ""
    target: str = ""
    verdict: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def show(value: float, unit: str) -> str:
    """A number a person can read, with its unit."""
    if unit == "B" and value >= 2**20:
        return f"{value / 2**20:.1f} MiB"
    if unit == "ns" and value >= 10_000:
        return f"{value / 1000:.1f} us"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {unit}".rstrip()


def _unit_of(metric: str, benchmark: Benchmark) -> str:
    """A metric other than the one that the table shows says its unit in its name."""
    units = {"us": "us", "ns": "ns", "bytes": "B"}
    return benchmark.unit if metric == benchmark.metric else units.get(metric.rpartition("_")[2], benchmark.unit)


def _measured(result: Result, contender: str, metric: str) -> Row | None:
    series = result.series(contender, metric)
    if not series:
        return None
    unit = result.benchmark.unit
    row = Row(result.benchmark.name, contender, *(show(f(series), unit) for f in (statistics.median, min, max)))
    if cpu := result.series(contender, "cpu_ns"):
        row.cpu = show(statistics.median(cpu), "ns")
    return row


def _judge(result: Result, target: Target) -> Row:
    """The row of one target. The peer is the best one that was measured."""
    wanted = target.at_most if target.at_most is not None else target.at_least
    at_most = target.at_most is not None
    sign = "<=" if at_most else ">="
    unit = _unit_of(target.metric, result.benchmark)
    own = result.series(target.contender, target.metric)
    row = Row(contender=f"{target.contender}: {target.metric}" if target.metric != result.benchmark.metric else "")
    if target.peers:
        peer_metric = target.peer_metric or target.metric
        medians = {p: statistics.median(s) for p in target.peers if (s := result.series(p, peer_metric))}
        row.target = f"{sign} {wanted:g} x ({target.text})"
        if not own or not medians:
            row.verdict = "not measured"
            return row
        peer = (min if at_most else max)(medians, key=medians.__getitem__)
        ratio = statistics.median(result.ratios(target.contender, target.metric, peer, peer_metric))
        row.contender = f"{target.contender} / {peer if peer != target.contender else peer_metric}"
        row.ratio = f"{ratio:.2f}"
        found = ratio
    else:
        row.target = f"{sign} {show(wanted, unit)} ({target.text})"
        if not own:
            row.verdict = "not measured"
            return row
        found = statistics.median(own)
        if target.metric != result.benchmark.metric:
            row.median = show(found, unit)
    row.verdict = "met" if (found <= wanted if at_most else found >= wanted) else "missed"
    return row


def rows_of(result: Result) -> list[Row]:
    """The contenders, then the targets. The benchmark's name is shown once."""
    names = [contender.name for contender in result.benchmark.contenders]
    measured = [_measured(result, name, result.benchmark.metric) for name in names]
    rows = [row for row in measured if row] + [_judge(result, target) for target in result.benchmark.targets]
    for index, row in enumerate(rows):
        row.benchmark = result.benchmark.name if index == 0 else ""
    return rows


def print_table(rows: list[Row]) -> None:
    lines = [HEADER] + [tuple(asdict(row).values()) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    right = {2, 3, 4, 5, 6}
    for index, line in enumerate(lines):
        if index > 0 and line[0]:
            print()
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()


def summary_of(rows: list[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("met", "missed", "not measured")}
    return "targets: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
