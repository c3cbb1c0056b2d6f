"""The result of heat is right, the same for every variant, and the demo runs at small size."""

from __future__ import annotations

import itertools
import json
import struct
import sys
from pathlib import Path

from heat_support import (
    BUILD,
    PAGE,
    SMALL,
    SOURCE,
    VARIANTS,
    Skipped,
    check,
    complete_checkpoints,
    field_file,
    final_bytes,
    hangs,
    main,
    read_header,
    run,
)


def read_cells(path: Path) -> list[list[float]]:
    """The cells of a checkpoint, by its format and not by the program's code."""
    header = read_header(path)
    check(header is not None, f"{path} has no header")
    raw = path.read_bytes()
    down = -(-header.rows // header.block)
    across = -(-header.columns // header.block)
    offset = PAGE + -(-8 * down * across // PAGE) * PAGE
    cells = [[0.0] * header.columns for _ in range(header.rows)]
    for block_row, block_column in itertools.product(range(down), range(across)):
        rows = min(header.block, header.rows - block_row * header.block)
        columns = min(header.block, header.columns - block_column * header.block)
        for row in range(rows):
            values = struct.unpack_from(f"<{columns}d", raw, offset + row * columns * 8)
            first = block_column * header.block
            cells[block_row * header.block + row][first : first + columns] = values
        offset += -(-rows * columns * 8 // PAGE) * PAGE
    check(offset == len(raw), f"{path} has {len(raw)} bytes, its format says {offset}")
    return cells


def gauss_seidel(cells: list[list[float]], steps: int) -> list[list[float]]:
    for _ in range(steps):
        for row in range(1, len(cells) - 1):
            above, here, below = cells[row - 1], cells[row], cells[row + 1]
            for column in range(1, len(here) - 1):
                here[column] = 0.25 * (above[column] + below[column] + here[column + 1] + here[column - 1])
    return cells


def result_equals_that_of_plain_python(folder: Path) -> None:
    field = field_file(folder)
    rows, columns = struct.unpack_from("<QQ", field.read_bytes(), 8)
    values = struct.unpack_from(f"<{rows * columns}d", field.read_bytes(), 24)
    expected = [list(values[row * columns : (row + 1) * columns]) for row in range(rows)]
    for block in (16, 61, 7):
        directory = folder / f"block-{block}"
        run(
            "--field", field, "--directory", directory, "--block", block, "--steps", 23, "--checkpoint-every", 10
        ).expect(0)
        steps = complete_checkpoints(directory)
        check(sorted(steps) == [10, 20], f"checkpoints of steps {sorted(steps)}, not 10 and 20")
        cells = [row[:] for row in expected]
        for step, path in ((10, steps[10]), (20, steps[20]), (23, directory / "final.heat")):
            check(read_header(path).step == step, f"{path} is of step {read_header(path).step}, not {step}")
            gauss_seidel(cells, step if step == 10 else 10 if step == 20 else 3)
            check(read_cells(path) == cells, f"step {step} with blocks of {block} differs from plain Python")


def all_variants_give_the_same_bytes(folder: Path) -> None:
    field = field_file(folder)
    expected = None
    cases = itertools.product(VARIANTS, (1, 2, 5), (0, 1, 2), ("never", "automatic"))
    for number, (variant, workers, copies, direct) in enumerate(cases):
        if SMALL and number % 5 != 0:
            continue
        directory = folder / f"case-{number}"
        report = folder / "report.json"
        run(
            *("--field", field, "--directory", directory, "--size", "150x130", "--block", 32, "--steps", 40),
            *("--checkpoint-every", 3, "--io", variant, "--workers", workers, "--copies", copies, "--direct", direct),
            *("--json", report),
        ).expect(0)
        case = f"{variant}, {workers} workers, {copies} copies, direct {direct}"
        told = json.loads(report.read_text())
        check(told["variant"] == variant and told["workers"] == workers, f"{case}: the report says {told}")
        check(told["checkpoints"] == 13, f"{case}: {told['checkpoints']} checkpoints, not 13")
        check(
            told["bytes_written"] == 14 * (told["checkpoint_bytes"] + PAGE),
            f"{case}: {told['bytes_written']} bytes written",
        )
        check(sorted(complete_checkpoints(directory)) == [33, 36, 39], f"{case}: {complete_checkpoints(directory)}")
        result = final_bytes(directory)
        expected = expected or result
        check(result == expected, f"{case}: other bytes than the first case")


def trace_is_json_and_agrees_with_the_report(folder: Path) -> None:
    report, trace = folder / "report.json", folder / "trace.json"
    run(
        *("--field", field_file(folder), "--directory", folder / "run", "--size", 256, "--block", 64, "--steps", 30),
        *("--checkpoint-every", 5, "--io", "bound", "--json", report, "--trace", trace),
    ).expect(0)
    told = json.loads(report.read_text())
    check(told["trace"]["bytes_written"] >= told["bytes_written"], f"the trace misses writes: {told}")
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event.get("name", "") for event in events}
    check(any("update" in name for name in names), f"no update in the trace, only {sorted(names)[:20]}")


def progress_is_told_in_plain_lines_without_a_terminal(folder: Path) -> None:
    arguments = ("--field", field_file(folder), "--directory", folder / "run", "--steps", 50, "--progress")
    result = run(*arguments).expect(0, "heat: 100 %, ")
    check("\r" not in result.errors, "a bar was drawn into a file")


def demo_runs_at_small_size(folder: Path) -> None:
    try:
        import matplotlib  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        raise Skipped(f"{error} (packages/python-demo.txt)") from error
    command = [sys.executable, str(SOURCE / "examples" / "heat" / "demo.py"), "--build-dir", str(BUILD), "--small"]
    for attempt in range(3):
        output = folder / f"demo-{attempt}"
        done = hangs.run([*command, "--output", output], timeout=250)
        check(done.returncode == 0, f"exit status {done.returncode}:\n{done.stdout}{done.stderr}")
        print(done.stdout)
        # As long as it was made on a machine that was busier then, a run may be over at once.
        if "ended before it could be killed" not in done.stdout:
            break
    check("are the same bytes" in done.stdout, "the demo did not compare the results")
    check("--restart went on from step" in done.stdout, "the demo did not restart a killed run")
    devices = ["real-disk"] if "left out" in done.stdout else ["real-disk", "slow-disk"]
    for device, variant in itertools.product(devices, VARIANTS):
        events = json.loads((output / f"trace-{device}-{variant}.json").read_text())["traceEvents"]
        check(len(events) > 100, f"the trace of {device}, {variant} has only {len(events)} events")
        names = {event["name"] for event in events if event.get("cat") == "io"}
        check({"pwrite", "fdatasync"} <= names, f"the trace of {device}, {variant} shows only the requests {names}")
    picture = (output / f"timeline-{devices[-1]}.png").read_bytes()
    check(picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 20000, "the picture is no PNG")
    check(not list(output.glob("scratch-*")), "the demo left its scratch folder")


if __name__ == "__main__":
    main(
        result_equals_that_of_plain_python,
        all_variants_give_the_same_bytes,
        trace_is_json_and_agrees_with_the_report,
        progress_is_told_in_plain_lines_without_a_terminal,
        demo_runs_at_small_size,
    )
