"""`dovetail run --trace`: what a program has read, beside what was asked for ahead."""

import json
import sys
import unittest

from support import CACHED, Case, Ways, observation, prefetch_trace

STEP = 256 << 10
COUNT = 32
# With "wait" it reads on when that is there which was asked for.
READER = (
    CACHED
    + """
path, way = sys.argv[1:]
descriptor = os.open(path, os.O_RDONLY)
memory = map_file(descriptor)
for number in range(32):
    while way == "wait" and number == 1 and not arrived(memory, 262144):
        os.pread(descriptor, 10, 0)
    while way == "detect" and number == 24 and not arrived(memory, 24 * 262144):
        os.sched_yield()
    # What would be joined in a plan.
    piece = 4096 if way == "detect" else 2048
    for half in range(0, 4096, piece):
        os.pread(descriptor, piece, number * 262144 + half)
"""
)


class Trace(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", COUNT * STEP)
        self.trace = self.folder / "trace.json"
        self.report = self.folder / "report.txt"

    def words(self, way: str):
        return sys.executable, "-c", READER, self.path, way

    def lanes(self, way: str, **options) -> dict[str, list[dict]]:
        """The events of the file, by the names of their lanes."""
        status, _, errors = self.run_in(Ways(**options), *self.words(way), report=self.report, trace=self.trace, environment={"DOVETAIL_PREFETCH_GAP_KB": "0"})  # fmt: skip
        self.assertEqual((status, errors), (0, b""))
        events = json.loads(self.trace.read_text())["traceEvents"]
        names = {
            (event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"
        }
        (process,) = [
            event["pid"]
            for event in events
            if event["name"] == "process_name" and event["args"]["name"] == str(self.path)
        ]
        found: dict[str, list[dict]] = {"reads": [], "asked for ahead": []}
        for event in events:
            if event["ph"] == "X" and event["pid"] == process:
                found[names[process, event["tid"]]].append(event)
        return found

    def test_with_a_plan_reads_lie_beside_what_was_asked_for(self):
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        self.forget(self.path)
        lanes = self.lanes("wait", plan=self.plan_file)
        reads = [event["args"]["offset"] for event in lanes["reads"] if event["args"]["bytes"] == 2048]
        self.assertEqual(reads, [number * STEP + half for number in range(COUNT) for half in (0, 2048)])
        # The plan is followed as without a trace.
        (line,) = [line for line in self.report.read_text().splitlines() if line.endswith(str(self.path))]
        self.assertGreaterEqual(int(line.split()[0]), 2 * COUNT)
        asked = {event["args"]["offset"]: event for event in lanes["asked for ahead"]}
        self.assertIn(STEP, asked)
        # It was asked for before it was read, and the program has waited for that.
        (read,) = [event for event in lanes["reads"] if event["args"]["offset"] == STEP]
        self.assertLess(asked[STEP]["ts"], read["ts"])
        for lane in lanes.values():
            for event in lane:
                self.assertGreaterEqual(min(event["ts"], event["dur"]), 0)

    def test_with_detection(self):
        self.forget(self.path)
        lanes = self.lanes("detect", detection=True)
        read = {event["args"]["offset"] for event in lanes["reads"]}
        self.assertLessEqual({number * STEP for number in range(8, COUNT)}, read, "the first are not looked at")
        self.assertIn(24 * STEP, {event["args"]["offset"] for event in lanes["asked for ahead"]})

    def test_threads_have_lanes_of_their_own(self):
        notes = [
            observation.Noted(observation.READ, begun, ended, 1, 1, 0, 1, 0, 1)
            for begun, ended in ((0, 10), (5, 7), (6, 9), (8, 9), (10, 11))
        ]
        self.assertEqual([lane for lane, _ in prefetch_trace._lanes(notes)], [0, 1, 2, 1, 0])

    def test_where_it_cannot_be_written_nothing_is_run(self):
        self.plan_file.write_text('{"dovetail_plan": 1, "program": [], "files": []}')
        for place in (self.folder, self.folder / "none" / "trace.json"):
            status, output, errors = self.run_in(Ways(plan=self.plan_file), "echo", "ran", trace=place)
            self.assertEqual((status, output), (2, b""))
            self.assertIn(b"a trace cannot be written there", errors)

    def test_with_what_it_does_not_go(self):
        for options in (("--system", "--detect"), ("--advised",), ()):
            status, output, errors = self.dovetail("run", *options, "--trace", self.trace, "--", "echo", "ran")
            self.assertEqual((status, output), (2, b""))
            self.assertIn(b"--trace: it goes with", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
