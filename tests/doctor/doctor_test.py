"""dovetail-doctor: what it says of engines and devices, its mistakes, and that it leaves nothing behind."""

import ctypes
import errno
import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "devices"))
from support import DEVICES, hangs  # noqa: E402, F401  (makes the makers of devices importable)

# isort: split
from device_unavailable import DeviceUnavailable
from fault_fs import FaultFs
from programs import find_program
from slow_disk import SlowDisk
from small_disk import SmallDisk

LIMIT = 240
QUICK = ("--point-limit", "0.03", "--total-limit", "1.5")
# Where all points are asked for, which a busy machine may not measure within so little.
COMPLETE = ("--point-limit", "0.03", "--total-limit", "60")


@contextmanager
def device_or_skip(test: unittest.TestCase, maker):
    try:
        device = maker.__enter__()
    except DeviceUnavailable as error:
        test.skipTest(str(error))
    try:
        yield device
    finally:
        maker.__exit__(None, None, None)


MEMFD_CREATE = {"x86_64": 319, "aarch64": 279, "riscv64": 279, "ppc64le": 360, "s390x": 350}
PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270, "riscv64": 270, "ppc64le": 351, "s390x": 340}
IO_SETUP = {"x86_64": 206, "aarch64": 0, "riscv64": 0, "ppc64le": 227, "s390x": 243}


def without_count(text: str) -> str:
    """Without how many requests all programs of the machine have asked for: others may run meanwhile."""
    return re.sub(r"fs\.aio-nr has reached \d+", "fs.aio-nr has reached", text)


def forbid(call: int, error: int):
    """What makes a system call fail with `error` in a child, from before its program begins."""
    libc = ctypes.CDLL(None, use_errno=True)
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    allowed, fails = 0x7FFF0000, 0x00050000 | error
    instructions = ((load, 0, 0, 0), (jump_if_equal, 0, 1, call), (answer, 0, 0, fails), (answer, 0, 0, allowed))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code)))
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2

    def restrict() -> None:
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, filter_mode, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"no filter can be set ({ctypes.addressof(code)})")

    return restrict


class DoctorTest(unittest.TestCase):
    def run_doctor(self, *options: str, before: tuple[str, ...] = (), status: int = 0, **more):
        done = hangs.run([*before, DOCTOR, *options], timeout=LIMIT, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def report(self, *options: str, **more) -> dict:
        return json.loads(self.run_doctor("--json", *options, **more).stdout)

    def forbid_or_skip(self, call: int, error: int):
        restrict = forbid(call, error)
        try:
            subprocess.run(["true"], check=True, preexec_fn=restrict)
        except subprocess.SubprocessError as reason:
            self.skipTest(f"this kernel takes no filter: {reason}")
        return restrict

    def folder(self) -> Path:
        return Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_text_and_the_json_tell_of_machine_engines_and_devices(self):
        folder = self.folder()
        report = self.report(*COMPLETE, str(folder))
        self.assertEqual([engine["name"] for engine in report["engines"]], ["uring", "aio", "threads"])
        self.assertTrue(report["engines"][2]["works"])
        self.assertEqual(report["machine"]["allowed_processors"], len(os.sched_getaffinity(0)))
        self.assertIn("vm.max_map_count", report["machine"]["limits"])
        (device,) = report["devices"]
        points = device["curve"]["points"]
        self.assertEqual(
            {(point["direction"], point["block"]) for point in points},
            {(way, block) for way in ("read", "write") for block in (4096, 131072)},
        )
        self.assertTrue(all(point["bytes_per_second"] > 0 for point in points))
        for way in ("read", "write"):
            choice = device["choice"][way]
            self.assertIn(choice["depth"], (1, 4, 16, 64))
            self.assertIn("MB/s", choice["reason"])
        text = self.run_doctor(*QUICK, str(folder)).stdout
        for words in ("Machine", "Engines", str(folder), "for reading:", "for writing:", "requests/s"):
            self.assertIn(words, text)
        self.assertEqual(list(folder.iterdir()), [])

    def test_without_measuring_it_lists_the_current_folder_and_what_is_mounted(self):
        folder = self.folder()
        report = self.report("--no-measure", cwd=folder)
        self.assertEqual(report["devices"][0]["device"]["path"], ".")
        self.assertTrue(all(device["curve"] is None for device in report["devices"]))
        numbers = [device["device"]["number"] for device in report["devices"]]
        self.assertEqual(len(numbers), len(set(numbers)))
        status = os.stat(folder)
        self.assertEqual(numbers[0], f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}")

    def test_it_says_which_transport_one_sided_communication_has(self):
        found = self.report("--no-measure", "/dev/shm")["one_sided"]
        self.assertEqual(found["transport"], "shared memory")
        self.assertEqual([one["name"] for one in found["transports"][:2]], ["shared memory", "copies by the kernel"])
        fabric = found["transports"][2]
        self.assertRegex(fabric["name"], r"libfabric \(.+\)" if fabric["works"] else "libfabric")
        self.assertTrue(found["transports"][0]["works"])
        text = self.run_doctor("--no-measure", "/dev/shm").stdout
        *by_mpi, by_gaspi = found["transports"][3:]
        self.assertTrue(all(one["name"].startswith("MPI") for one in by_mpi) and by_mpi)
        self.assertRegex(by_gaspi["name"], r"GASPI \(GPI-2 .+\)" if by_gaspi["works"] else "GASPI")
        others = [one["name"] for one in (fabric, *by_mpi, by_gaspi) if one["works"]]
        to_others = f"{others[0]} to other nodes" if others else "there is none to other nodes"
        self.assertIn(f"chosen               shared memory, between the processes of this node; {to_others}", text)

    def test_it_says_what_one_sided_communication_must_do_without(self):
        for call, place, name, words in (
            (MEMFD_CREATE, 0, None, "no shared memory"),
            (PROCESS_VM_READV, 1, "shared memory", "rma::Segment::allocate needs no such permission"),
        ):
            if platform.machine() not in call:
                self.skipTest(f"the number of the call is not known for {platform.machine()}")
            restrict = self.forbid_or_skip(call[platform.machine()], errno.EPERM)
            found = self.report("--no-measure", "/dev/shm", preexec_fn=restrict)["one_sided"]
            self.assertEqual(found["transport"], name)
            self.assertFalse(found["transports"][place]["works"])
            self.assertIn(words, found["transports"][place]["why_not"])

    def test_it_says_that_a_filter_forbids_io_uring_and_measures_without(self):
        without = find_program("dovetail-without-io-uring")
        probe = hangs.run([without, "true"], timeout=LIMIT)
        if probe.returncode == 77:
            self.skipTest("this kernel takes no filter")
        for name, words in (("EPERM", "seccomp"), ("ENOSYS", "seccomp")):
            report = self.report(*QUICK, "/dev/shm", before=(without, "--errno", name))
            uring = report["engines"][0]
            self.assertFalse(uring["works"])
            self.assertIn(words, uring["why_not"])
            self.assertEqual(uring["features"], [])
            self.assertNotEqual(report["engine"]["name"], "uring")
            (device,) = report["devices"]
            self.assertTrue(device["curve"]["points"])
            self.assertNotIn("uring", {point["engine"] for point in device["curve"]["points"]})
        done = self.run_doctor("--engine", "uring", "/dev/shm", before=(without,), status=2)
        self.assertIn("seccomp", done.stderr)

    def test_it_explains_why_aio_does_not_work(self):
        call = IO_SETUP.get(platform.machine())
        if call is None:
            self.skipTest(f"the number of io_setup on {platform.machine()} is not known here")
        for error, words in (
            (errno.EPERM, ("seccomp",)),
            (errno.ENOSYS, ("filter",)),
            (errno.EAGAIN, ("fs.aio-max-nr", "sysctl")),
        ):
            restrict = self.forbid_or_skip(call, error)
            report = self.report("--no-measure", "/dev/shm", preexec_fn=restrict)
            uring, aio, threads = report["engines"]
            self.assertFalse(aio["works"])
            for word in ("io_setup", os.strerror(error), *words):
                self.assertIn(word, aio["why_not"])
            self.assertTrue(threads["works"])
            self.assertNotEqual(report["engine"]["name"], "aio")
            text = self.run_doctor("--no-measure", "/dev/shm", preexec_fn=restrict).stdout
            self.assertIn(without_count(aio["why_not"]), without_count(text))
            done = self.run_doctor("--engine", "aio", *QUICK, str(self.folder()), status=2, preexec_fn=restrict)
            for word in ("aio", *words):
                self.assertIn(word, done.stderr)

    def test_a_file_and_a_folder_lead_to_their_device_and_keep_what_they_hold(self):
        folder = self.folder()
        file = folder / "file"
        file.write_text("to be kept")
        report = self.report(*QUICK, str(file))
        (device,) = report["devices"]
        self.assertEqual(device["device"]["path"], str(file))
        status = os.stat(folder)
        self.assertEqual(device["device"]["number"], f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}")
        self.assertTrue(device["curve"]["points"])
        self.assertEqual(file.read_text(), "to be kept")
        self.assertEqual(list(folder.iterdir()), [file])
        # The same device, whichever of the two is named.
        (same,) = self.report("--no-measure", str(folder))["devices"]
        self.assertEqual(same["device"]["number"], device["device"]["number"])

    def test_a_block_device_is_described_and_never_written_to(self):
        with device_or_skip(self, SmallDisk(4)) as disk:
            before = Path(disk.device).read_bytes()
            report = self.report("--no-measure", disk.device)
            (device,) = report["devices"]
            self.assertEqual(device["device"]["name"], Path(disk.device).name)
            self.assertTrue(device["device"]["loop"])
            done = self.run_doctor(*QUICK, disk.device, status=1)
            for words in (disk.device, "name a folder of the file system on it"):
                self.assertIn(words, done.stderr)
            self.assertIn(Path(disk.device).name, done.stdout)
            self.assertEqual(Path(disk.device).read_bytes(), before)

    def test_bad_options_are_refused_with_a_message(self):
        for bad in (
            ["--colour"],
            ["--engine", "steam"],
            ["--blocks", "12"],
            ["--blocks", "4Q"],
            ["--depths", "0"],
            ["--depths", "1,x"],
            ["--point-limit", "-1"],
            ["--point-limit", "5", "--total-limit", "1"],
            ["/there/is/no/such/path"],
        ):
            done = self.run_doctor(*bad, status=2)
            self.assertTrue(done.stderr.startswith("dovetail-doctor: "), done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertIn("/there/is/no/such/path: No such file or directory", done.stderr)
        self.assertIn("--no-measure", self.run_doctor("--help").stdout)

    def test_a_folder_without_permission_is_described_and_not_measured(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody without permission")
        folder = self.folder()
        os.chmod(folder, 0o755)
        done = self.run_doctor("--json", *QUICK, str(folder), status=1, user=65534, group=65534, extra_groups=[])
        self.assertIn("Permission denied", done.stderr)
        self.assertIn(str(folder), done.stderr)
        (device,) = json.loads(done.stdout)["devices"]
        self.assertIn("Permission denied", device["why_not_measured"])
        self.assertTrue(device["device"]["file_system"])

    def test_proc_cannot_be_measured_and_says_so(self):
        self.assertIn("/proc", self.run_doctor(*QUICK, "/proc", status=1).stderr)

    def test_a_small_disk_is_measured_with_small_blocks_and_a_full_one_says_it_is_full(self):
        with device_or_skip(self, SmallDisk(4)) as disk:
            report = self.report(*QUICK, "--blocks", "4K,1M", str(disk.path))
            (device,) = report["devices"]
            self.assertEqual({point["block"] for point in device["curve"]["points"]}, {4096})
            self.assertTrue(any("1 MiB" in note for note in device["curve"]["notes"]), device["curve"]["notes"])
            with open(disk.path / "full", "wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(1024)):
                    pass
            done = self.run_doctor(*QUICK, str(disk.path), status=1)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(sorted(path.name for path in disk.path.iterdir() if path.name != "lost+found"), ["full"])

    def test_a_throttled_loop_device_is_found_and_measured_as_fast_as_it_may_be(self):
        speed = 24
        with device_or_skip(self, SlowDisk(speed, speed, 256)) as disk:
            report = self.report(
                "--point-limit", "1", "--total-limit", "10", "--blocks", "128K", "--depths", "8", str(disk.path)
            )
            (device,) = report["devices"]
            about = device["device"]
            self.assertTrue(about["loop"])
            self.assertEqual(about["file_system"], "ext4")
            self.assertEqual(about["name"], Path(disk.device).name)
            self.assertEqual(about["throttle"]["read_bytes_per_second"], speed * 1_000_000)
            self.assertEqual(about["throttle"]["write_bytes_per_second"], speed * 1_000_000)
            for point in device["curve"]["points"]:
                share = point["bytes_per_second"] / (speed * 1e6)
                print(f"{point['direction']}: {share:.3f} of the limit, steady {point['steady']}")
                # The throttle allows bursts, and a busy machine holds it up: a factor would show that something else was measured.
                self.assertLess(share, 2, point)
                if point["steady"]:
                    self.assertGreater(share, 0.5, point)

    def test_a_file_system_in_user_space_is_measured_when_it_is_named(self):
        with device_or_skip(self, FaultFs()) as faults:
            report = self.report(*QUICK, "--depths", "1,4", str(faults.path))
            (device,) = report["devices"]
            self.assertTrue(device["device"]["fuse"])
            self.assertTrue(device["curve"]["points"])
            self.assertEqual(list(faults.path.iterdir()), [])
            unnamed = self.report("--no-measure")
            self.assertIn(str(faults.path), [entry["device"]["mount_point"] for entry in unnamed["devices"]])
            faults.set_rules("write error=EIO nth=5")
            done = self.run_doctor(*QUICK, str(faults.path), status=1)
            self.assertIn("Input/output error", done.stderr)
            faults.set_rules()
            self.assertEqual(list(faults.path.iterdir()), [])

    def test_nothing_is_left_by_one_that_is_killed_while_it_measures(self):
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            folder = self.folder()
            process = subprocess.Popen(
                [DOCTOR, "--point-limit", "30", "--total-limit", "300", str(folder)],
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
            with process:
                self.assertIn(b"measuring", process.stderr.readline())
                # The file is there once a descriptor leads to it.
                descriptors = Path(f"/proc/{process.pid}/fd")
                while process.poll() is None and not any(
                    target.startswith(str(folder)) for target in self.targets(descriptors)
                ):
                    os.sched_yield()
                self.assertIsNone(process.poll(), "it ended by itself")
                process.send_signal(number)
                self.assertEqual(hangs.wait(process, LIMIT), -number)
            self.assertEqual(list(folder.iterdir()), [])

    @staticmethod
    def targets(descriptors: Path) -> list[str]:
        found = []
        with suppress(OSError):  # a descriptor that is closed meanwhile
            for link in descriptors.iterdir():
                found.append(os.readlink(link))
        return found


if __name__ == "__main__":
    try:
        DOCTOR = find_program("dovetail-doctor")
    except DeviceUnavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
    unittest.main(verbosity=2)
