"""Calls of the C library that are interposed."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import ONCE


def interposed_call(call: str, where: str) -> Benchmark:
    return Benchmark(
        f"interposed_{call}_{where}",
        {
            "pread": "pread of one cached byte",
            "write": "write of a byte to /dev/null",
        }[call]
        + {"outside": " outside of any task", "task": " inside of a task"}[where]
        + ", ns above the C library's",
        (Contender("dovetail", "interposed_call", ("--call", call, "--where", where, *ONCE)),),
        (Target("20 ns", metric="extra_ns", at_most=20),) if where == "outside" else (),
        metric="extra_ns",
        quick=("--pairs", "50"),
    )


BENCHMARKS = [interposed_call(call, where) for call in ("pread", "write") for where in ("outside", "task")]
