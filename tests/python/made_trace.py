"""Traces that tests make: what the runtime would have written of a run whose times are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class MadeTrace:
    """A run on so many workers. Times in seconds."""

    def __init__(self, workers: int = 2, **facts: Any) -> None:
        self.facts: dict[str, Any] = {
            "producer": "dovetail",
            "rank": 0,
            "ranks": 1,
            "workers": workers,
            "lost_events": 0,
            **facts,
        }
        self.events: list[dict[str, Any]] = []
        self._made = 0
        for process, name in ((1, "tasks"), (2, "I/O in flight"), (3, "messages outstanding")):
            self._named("process_name", process, 0, name)
        for worker in range(workers):
            self._named("thread_name", 1, 1 + worker, f"worker {worker}")

    def _named(self, kind: str, process: int, track: int, name: str) -> None:
        self.events.append({"ph": "M", "name": kind, "pid": process, "tid": track, "ts": 0, "args": {"name": name}})

    def _interval(
        self, process: int, track: int, category: str, name: str, begin: float, end: float, **more: Any
    ) -> None:
        self.events.append({
            "ph": "X", "pid": process, "tid": track, "cat": category, "name": name, "ts": round(begin * 1e6, 3),
            "dur": round((end - begin) * 1e6, 3), **more,
        })  # fmt: skip

    def task(self, lane: int, name: str, begin: float, end: float, accesses: str = "", **facts: Any) -> int:
        """A task on a worker. Returns its place in the order of making."""
        self._made += 1
        if accesses:
            facts |= {"accesses": accesses, "made": self._made}
        self._interval(1, 1 + lane, "task", name, begin, end, args={"task": f"0x{self._made:x}", **facts})
        return self._made

    def io_task(self, executor: int, name: str, begin: float, end: float, **facts: Any) -> None:
        """An I/O task, on an executor."""
        self._named("thread_name", 1, 50 + executor, f"I/O executor {executor}")
        self._made += 1
        self._interval(1, 50 + executor, "task", name, begin, end, args={"task": f"0x{self._made:x}", **facts})

    def request(self, lane: int, name: str, begin: float, end: float, **facts: Any) -> None:
        """A request in flight."""
        self._named("thread_name", 2, 100_001 + lane, f"request {lane + 1}")
        self._interval(2, 100_001 + lane, "io", name, begin, end, args=facts)

    def message(self, name: str, begin: float, end: float, **facts: Any) -> None:
        self._named("thread_name", 3, 500_001, "message 1")
        self._interval(3, 500_001, "message", name, begin, end, args=facts)

    def wait(self, lane: int, begin: float, end: float) -> None:
        """A worker's wait for the interpreter."""
        self._interval(1, 1 + lane, "wait", "waits for the interpreter", begin, end)

    def lost(self, lane: int, since: float) -> None:
        """A worker's older events, before this time, were lost."""
        self.events.append({
            "ph": "i", "s": "t", "pid": 1, "tid": 1 + lane, "cat": "lost", "name": "7 older events lost", "ts": since * 1e6,
            "args": {"lost": 7},
        })  # fmt: skip

    def document(self) -> dict[str, Any]:
        return {"displayTimeUnit": "ns", "otherData": self.facts, "traceEvents": self.events}

    def write(self, path: Path) -> Path:
        """As the runtime writes it: the facts in the first line, then one event a line."""
        events = ",\n".join(json.dumps(event) for event in self.events)
        path.write_text(
            f'{{"displayTimeUnit":"ns","otherData":{json.dumps(self.facts)},\n"traceEvents":[\n{events}\n]}}\n'
        )
        return path
