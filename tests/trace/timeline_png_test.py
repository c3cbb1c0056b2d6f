"""The trace that the exporter writes is JSON for Python too, and tools/timeline.py draws it, or says what is wrong."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
TOOL = SOURCE / "tools" / "timeline.py"

sys.path.insert(0, str(SOURCE / "tools"))
try:
    import numpy as np
    import timeline
    from matplotlib import image
    from timeline_trace import coverage, family, moments, read_trace
except ImportError as error:
    print(f"skipped: {error}; run `make setup-all`")
    sys.exit(77)


def interval(process, track, begin, length, category, name):
    return {
        "ph": "X",
        "pid": process,
        "tid": track,
        "ts": begin,
        "dur": length,
        "cat": category,
        "name": name,
        "args": {},
    }


class TimelineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text):
        path = self.folder / "trace.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def write_events(self, events, **facts):
        return self.write(json.dumps({"traceEvents": events, "otherData": facts}))

    def run_tool(self, *words):
        """Exit status and standard error, without the seconds that a new process takes to import matplotlib."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            try:
                status = timeline.main([str(word) for word in words])
            except SystemExit as end:
                status = end.code
        return status, errors.getvalue()

    def refused(self, *words):
        status, errors = self.run_tool(*words)
        self.assertEqual(status, 2, errors)
        return errors

    def sample(self):
        path = self.folder / "sample.json"
        subprocess.run(
            [BUILD / "bin" / "trace_export_test", "--gtest_filter=Export.WritesTheSampleThatWasAskedFor"],
            env={**os.environ, "DOVETAIL_TRACE_SAMPLE": str(path)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return path

    def test_sample_of_the_exporter(self):
        path = self.sample()
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual(len([event for event in events if event.get("cat") == "task"]), 5000)
        for event in events:
            self.assertIn(event["ph"], {"X", "M", "C", "i"})
            self.assertGreaterEqual(event.get("dur", 0), 0)
        trace = read_trace(path)
        self.assertEqual([lane.name for lane in trace.lanes], ["worker 0", "worker 1"])
        self.assertEqual(len(trace.requests), 1)
        # The picture's own sums against the exporter's.
        now = moments(trace)
        busy = float(np.sum((now.end - now.begin)[now.requests > 0]))
        self.assertAlmostEqual(busy, trace.facts["io_s"], places=9)
        computed = float(np.sum((now.end - now.begin) * now.computing)) / 2
        self.assertAlmostEqual(computed, trace.facts["compute_s"], places=9)

    def test_picture(self):
        picture = self.folder / "picture.png"
        self.assertEqual(self.run_tool(self.sample(), picture, "--title", "a title", "--seconds", "0.0004"), (0, ""))
        pixels = image.imread(picture)
        self.assertGreater(pixels.shape[1], 1500)
        # Tasks and requests are there in their colours.
        for color in ("#2a9d8f", "#e07a3f"):
            wanted = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
            near = np.all(np.abs(pixels[:, :, :3] - wanted) < 0.02, axis=2)
            self.assertGreater(int(near.sum()), 1000, color)

    def test_as_a_command(self):
        missing = self.folder / "missing.json"
        result = subprocess.run([sys.executable, TOOL, missing], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, f"timeline.py: cannot read '{missing}': No such file or directory\n")

    def test_one_slice_of_no_length(self):
        path = self.write_events([interval(1, 1, 0, 0, "task", "only")])
        self.assertEqual(self.run_tool(path), (0, ""))
        self.assertTrue(path.with_suffix(".png").exists())

    def test_a_worker_that_blocks_or_waits_does_not_compute(self):
        blocked = interval(1, 1, 0, 100, "task", "sync 3")
        blocked["args"] = {"processor_us": 4}
        computing = interval(1, 1, 100, 60, "task", "sum")
        computing["args"] = {"processor_us": 50}
        waits = interval(1, 1, 110, 20, "wait", "waits for the interpreter")
        name = {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "worker 0"}}
        trace = read_trace(self.write_events([name, blocked, computing, waits]))
        self.assertEqual(list(trace.lanes[0].kind), ["sync (blocked)", "sum", "waits for the interpreter", "sum"])
        now = moments(trace)
        self.assertAlmostEqual(float(np.sum((now.end - now.begin)[now.computing > 0])), 40e-6, places=12)

    def test_lanes_show_the_innermost_slice(self):
        path = self.write_events([interval(1, 1, 0, 100, "task", "outer"), interval(1, 1, 20, 30, "task", "inner 3")])
        lane = read_trace(path).lanes[0]
        self.assertEqual(list(lane.kind), ["outer", "inner", "outer"])
        np.testing.assert_allclose(lane.begin, [0, 20e-6, 50e-6])
        np.testing.assert_allclose(lane.end, [20e-6, 50e-6, 100e-6])

    def test_a_trace_of_several_ranks(self):
        events = [
            {"ph": "M", "pid": 3 * r + 1, "tid": 10 * r + 1, "name": "thread_name", "args": {"name": "worker 0"}}
            for r in (0, 1)
        ]
        events += [interval(3 * rank + 1, 10 * rank + 1, 10, 5, "task", "sum") for rank in (0, 1)]
        events.append(interval(6, 99, 0, 50, "message", "MPI_Recv"))
        for rank, time, count in ((0, 1, 1), (0, 4, 0), (1, 2, 3), (1, 3, 0)):
            events.append(
                {"ph": "C", "pid": 3 * rank + 2, "ts": time, "name": "requests in flight", "args": {"requests": count}}
            )
        events.append({"ph": "C", "pid": 6, "ts": 1, "name": "messages outstanding", "args": {"messages": 1}})
        path = self.write_events(events, ranks=[{}, {}])
        trace = read_trace(path)
        self.assertEqual([lane.name for lane in trace.computing], ["rank 0: worker 0", "rank 1: worker 0"])
        self.assertEqual(trace.requests, [])
        self.assertEqual(list(trace.in_flight[1]), [1, 4, 1, 0])
        self.assertEqual(self.run_tool(path), (0, ""))

    def test_coverage_of_columns(self):
        shares = coverage(np.array([0.5, 2.0]), np.array([1.5, 2.25]), np.arange(5.0))
        np.testing.assert_allclose(shares, [0.5, 0.5, 0.25, 0])

    def test_labels_that_differ_in_a_number_are_one_family(self):
        for label, expected in (("block 3,4", "block"), ("read[12]", "read"), ("42", "42"), ('say "x"', 'say "x"')):
            self.assertEqual(family(label), expected)

    def test_bad_input(self):
        self.assertIn("line 1", self.refused(self.write('{"traceEvents":[')))
        self.assertIn("UTF-8", self.refused(self.write(b'{"a":"\xff"}')))
        self.assertIn("traceEvents", self.refused(self.write("[]")))
        self.assertIn("nested too deep", self.refused(self.write("[" * 200_000)))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertIn("not a regular file", self.refused(pipe))
        self.assertIn("not written by Dovetail", self.refused(self.write('{"traceEvents":[{"ph":"X"}]}')))
        self.assertIn("not written by Dovetail", self.refused(self.write('{"traceEvents":[7]}')))
        self.assertIn("no task and no request", self.refused(self.write_events([])))
        good = self.write_events([interval(1, 1, 0, 5, "task", "x")])
        self.assertIn("--seconds", self.refused(good, "--seconds", "soon"))
        self.assertIn("greater than 0", self.refused(good, "--seconds", "-1"))
        unwritable = self.folder / "no" / "picture.png"
        self.assertIn(str(unwritable), self.refused(good, unwritable))


if __name__ == "__main__":
    unittest.main()
