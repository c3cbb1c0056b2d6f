"""What a device reads in the time of a request is measured when a program is observed. A plan reads smaller gaps, and says what it will bring."""

import json
import os
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

from support import (
    Case,
    Extent,
    Plan,
    PlanError,
    PlannedDevice,
    PlannedFile,
    device_rates,
    device_requests,
    read_ahead_limits,
    read_plan,
    replay,
    write_plan,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "devices"))
from device_unavailable import DeviceUnavailable  # noqa: E402 (behind the path to it)
from slow_disk import SlowDisk  # noqa: E402

MIB = 1 << 20
READER = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
for offset in range(0, os.path.getsize(sys.argv[1]), int(sys.argv[2])):
    os.pread(descriptor, 8192, offset)
"""


class Measured(Case):
    rates_are_measured = True

    def devices(self, size: int, step: int, folder=None) -> list[dict]:
        """Those of the plan of a program that reads a file of this size in such steps."""
        path = self.file("data", size)
        if folder is not None:
            path = (
                path.rename(folder / "data") if folder.stat().st_dev == path.stat().st_dev else self._copy(path, folder)
            )
        self.assertEqual(self.observe(sys.executable, "-c", READER, path, step), (0, b"", b""))
        return self.plan()["devices"]

    def _copy(self, path, folder):
        copy = folder / "data"
        copy.write_bytes(path.read_bytes())
        return copy

    def test_the_device_of_a_large_file_that_is_read_in_jumps(self):
        number = self.folder.stat().st_dev
        if number not in device_requests.so_far() or not self.can_be_read_past_the_page_cache():
            self.skipTest("the system does not say what the device of this folder serves, or has a cache before it")
        (device,) = self.devices(20 * MIB, 65536)
        self.assertGreater(device["requests_per_second"], 0)
        self.assertGreater(device["bytes_per_second"], 0)
        self.assertEqual(device["device"], f"{os.major(number)}:{os.minor(number)}")

    def can_be_read_past_the_page_cache(self) -> bool:
        path = self.file("probe", MIB)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            return False
        os.close(descriptor)
        return True

    def test_a_cache_that_answers_in_place_of_the_device_is_not_measured(self):
        with mock.patch.object(device_rates, "since", return_value=None):
            self.assertEqual(self.devices(20 * MIB, 65536), [], "the device is not known")
        with mock.patch.object(device_rates, "since", return_value=device_requests.NONE):
            self.assertEqual(self.devices(20 * MIB, 65536), [], "it has served nothing meanwhile")

    def test_a_file_system_that_holds_a_read_up_does_not_hold_up_the_command(self):
        held = threading.Event()
        self.addCleanup(held.set)
        path = self.file("data", 20 * MIB)
        status = path.stat()
        extents = [Extent(0, 8192, 0, 0), Extent(MIB, 8192, 0, 0)]
        file = PlannedFile(str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, extents)
        plan = Plan(["none"], [file])
        with (
            mock.patch.object(device_rates.os, "preadv", side_effect=lambda *_: held.wait()),
            mock.patch.object(device_rates, "_SECONDS_FOR_THE_LAST", 0.01),
        ):
            self.assertFalse(device_rates.add(plan, {}))
        self.assertEqual(plan.devices, {})

    def test_no_other(self):
        self.assertEqual(self.devices(20 * MIB, 8192), [], "in sequence")
        self.assertEqual(self.devices(1 * MIB, 65536), [], "a small file")

    def test_what_an_idle_disk_with_a_limit_lends_does_not_count(self):
        try:
            with SlowDisk(0, 0, 128, self.folder) as disk:
                disk.set_bandwidth(100, 0, 500)
                (device,) = self.devices(20 * MIB, 65536, disk.path)
        except DeviceUnavailable as error:
            self.skipTest(str(error))
        self.assertEqual(device["device"], disk.device_number)
        # Of two windows of the limit one may have been spared.
        self.assertLess(device["requests_per_second"], 800)
        self.assertLess(device["bytes_per_second"], 160e6)

    def test_what_cannot_be_read_past_the_page_cache_is_not_measured(self):
        with mock.patch.object(device_rates.os, "preadv", side_effect=OSError(22, "not here")):
            self.assertEqual(self.devices(20 * MIB, 65536), [])

    def test_another_file_at_this_place_is_not_read(self):
        path = self.file("data", 20 * MIB)
        status = path.stat()
        extents = [Extent(0, 8192, 0, 0), Extent(MIB, 8192, 0, 0)]
        file = PlannedFile(str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns + 1, extents)
        plan = Plan(["none"], [file])
        device_rates.add(plan, {})
        self.assertEqual(plan.devices, {})


class Used(Case):
    """100 runs, 300 KB apart, on a disk of 200 MB/s and 500 requests a second."""

    def setUp(self):
        super().setUp()
        path = self.file("data", 32 * MIB)
        status = path.stat()
        extents = [Extent(number * 300_000, 8192, number / 100, 0.01) for number in range(100)]
        file = PlannedFile(str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, extents)
        self.made = Plan(["analysis"], [file], {status.st_dev: PlannedDevice(500, 200e6, 7, 9_000_000)})
        self.status = status
        write_plan(self.made, self.plan_file)

    def test_smaller_gaps_than_what_is_read_in_the_time_of_a_request_are_read(self):
        measured = PlannedDevice(500, 200e6)
        self.assertEqual(read_ahead_limits.device_of(self.status.st_dev, measured).gap, 400_000)
        self.assertEqual(read_ahead_limits.device_of(self.status.st_dev, measured).of_a_request, 400_000)
        with mock.patch.dict("os.environ", DOVETAIL_PREFETCH_GAP_KB="7"):
            self.assertEqual(read_ahead_limits.device_of(self.status.st_dev, measured).gap, 7168)
        with mock.patch.object(replay, "device_of", wraps=read_ahead_limits.device_of) as looked_up:
            replay.compact(read_plan(self.plan_file), MIB)
        looked_up.assert_called_once_with(self.status.st_dev, PlannedDevice(500, 200e6, 7, 9_000_000))

    def test_nonsense_is_bounded(self):
        self.assertEqual(read_ahead_limits.device_of(self.status.st_dev, PlannedDevice(1e15, 1e-9)).gap, 4096)
        self.assertEqual(read_ahead_limits.device_of(self.status.st_dev, PlannedDevice(1e-9, 1e15)).gap, 16 * MIB)

    def test_what_it_will_bring_is_said(self):
        status, output, errors = self.dovetail("plan", "show", self.plan_file)
        self.assertEqual((status, errors), (0, b""))
        self.assertIn(
            b"measured: 500 requests or 200 MB a second. 100 runs become 1 requests for 29.7 MB, which take 0.15 s at least",
            output,
        )
        self.assertIn(
            b"the program computed for 0.99 s of the 0.99 s until its last read: with the plan at least 0.99 s", output
        )
        # A disk that is quicker to seek reads no gaps.
        self.made.devices = {self.status.st_dev: PlannedDevice(20_000, 200e6)}
        write_plan(self.made, self.plan_file)
        self.assertIn(b"100 runs become 100 requests for 0.8 MB", self.dovetail("plan", "show", self.plan_file)[1])

    def test_the_report_has_the_requests_of_the_device_now_and_then(self):
        report = self.folder / "report.txt"
        self.assertEqual(self.run_with_plan("true", report=report)[0], 0)
        if self.status.st_dev not in device_requests.so_far():
            self.skipTest("the system does not say what the device of this folder serves")
        name = f"{os.major(self.status.st_dev)}:{os.minor(self.status.st_dev)}"
        self.assertRegex(
            report.read_text(),
            rf"device {name} served \d+ reads, [\d.]+ MB, of all programs; when the program was observed 7, 9\.0 MB\n",
        )

    def test_plans_that_are_joined_keep_it(self):
        both = self.folder / "both.json"
        self.assertEqual(self.dovetail("plan", "merge", self.plan_file, self.plan_file, "-o", both), (0, b"", b""))
        self.assertEqual(read_plan(both).devices, self.made.devices)

    def test_what_is_wrong_is_named(self):
        document = self.plan()
        (device,) = document["devices"]
        for wrong, sentence in (
            ([{**device, "requests_per_second": 0}], r"plan\.devices\[0\]\.requests_per_second is 0: "),
            ([{**device, "bytes_per_second": "5"}], r"plan\.devices\[0\]\.bytes_per_second"),
            ([device, device], r"plan\.devices\[1\]\.device is there twice"),
            ({}, r"plan\.devices is {}: it must be a list"),
        ):
            self.plan_file.write_text(json.dumps({**document, "devices": wrong}))
            with self.assertRaisesRegex(PlanError, sentence):
                read_plan(self.plan_file)
        del document["devices"]
        self.plan_file.write_text(json.dumps(document))
        self.assertEqual(read_plan(self.plan_file).devices, {}, "plans without it are as good as ever")


if __name__ == "__main__":
    unittest.main(verbosity=2)
