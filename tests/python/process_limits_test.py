"""Worker processes where something runs out: room in sockets, descriptors, threads, memory."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import weakref

import dovetail as dt
import hangs
import numpy as np
import pytest
from dovetail import processes


@pytest.fixture(autouse=True)
def pool():
    yield
    processes.kill_all()


@dt.task(process=True)
def echo(text):
    return text


@dt.task(process=True)
def total(*arrays):
    return sum(float(array.sum()) for array in arrays)


@pytest.mark.parametrize("length", [3000, 63_000, 64_500, 300_000])
def test_messages_larger_than_a_socket_in_both_directions_at_once(length):
    """Tasks are sent ahead, so that both sides have more to send than sockets take."""

    def task_with(text):
        @dt.task(process=True)
        def body(argument):
            return text + argument

        return body

    processes.set_size(1)
    try:
        dt.wait([echo("x") for _ in range(10)])  # short, so that more are sent ahead
        tasks = [task_with(str(i % 10) * length) for i in range(24)]
        expected = [str(i % 10) * (length + 1) for i in range(24)]
        assert dt.wait([task(str(i % 10)) for i, task in enumerate(tasks)]) == expected
        texts = [str(i % 10) * length for i in range(60)]
        assert dt.wait([echo(text) for text in texts]) == texts
    finally:
        processes.set_size(0)


def test_tasks_of_many_threads_pass_through_few_sockets():
    text = "y" * 3500  # small enough to be sent ahead, so large that sockets fill

    @dt.task
    def spawn(count):
        return dt.wait([echo(text) for _ in range(count)])

    assert dt.wait([spawn(50) for _ in range(8)]) == [[text] * 50] * 8


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_any_number_of_arrays_in_one_call_and_no_descriptor_is_left():
    arrays = [np.full(5000, float(i)) for i in range(600)]
    sent_before = dt.wait([echo(array) for array in arrays[:100]])

    def call():
        assert dt.wait(total(*arrays)) == sum(range(600)) * 5000
        back = dt.wait(echo(arrays))
        assert all((a == b).all() for a, b in zip(arrays, back, strict=True))
        assert dt.wait(total(*sent_before)) == sum(range(100)) * 5000

    def seen():
        call()
        return descriptors()

    # The arrays of a call may rest with a worker until it runs its next body: so the numbers go up and down.
    first = [seen() for _ in range(4)]
    for _ in range(6):
        call()
    later = [seen() for _ in range(4)]
    assert min(later) <= max(first)


def test_a_worker_gives_the_memory_of_arguments_back_without_a_collection_of_garbage():
    @dt.task(process=True)
    def collect(on):
        import gc

        (gc.enable if on else gc.disable)()

    @dt.task(process=True)
    def files_of_arrays():
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        return sum("dovetail-array" in os.readlink(link) for link in links if os.path.islink(link))

    processes.set_size(1)
    try:
        dt.wait(collect(False))
        assert dt.wait(total(np.ones(5000), np.ones(6000))) == 11000
        assert dt.wait(files_of_arrays()) == 0
        dt.wait(collect(True))
    finally:
        processes.set_size(0)


def test_the_program_gives_the_memory_of_results_back_without_a_collection_of_garbage():
    @dt.task(process=True)
    def make():
        return np.ones(5000)

    gc.collect()
    gc.disable()
    try:
        array = dt.wait(make())
        gone = weakref.ref(array)
        del array
        assert dt.wait(total()) == 0  # the thread that took the array has left it
        assert gone() is None
    finally:
        gc.enable()


def test_failed_calls_leave_no_descriptor():
    class Unpicklable:
        def __reduce__(self):
            raise TypeError("no")

    @dt.task(process=True)
    def fail(array):
        raise ValueError(array.sum())

    class Unreadable:
        def __init__(self, array):
            self.array = array

        def __setstate__(self, state):
            raise TypeError("no")

    @dt.task(process=True)
    def give(array):
        return [array, Unreadable(array)]

    array = np.ones(10_000)
    failures = []

    def rounds(count):
        for _ in range(count):
            for call in (lambda: total(array, Unpicklable()), lambda: fail(array), lambda: give(array)):
                with pytest.raises(dt.TaskFailed) as failure:
                    dt.wait(call())
                failures.append(failure.value)

    rounds(3)
    before = descriptors()
    rounds(30)
    assert descriptors() <= before + 4


LIMITED = """
import os, resource, sys
import numpy as np
import dovetail as dt
from dovetail import processes

@dt.task(process=True)
def make(n, value=1.0):
    return np.full(n, value)

@dt.task(process=True)
def total(*arrays):
    return sum(float(array.sum()) for array in arrays)

@dt.task(process=True)
def increment(x):
    return x + 1
"""


def limited(run_program, text, *arguments, **environment):
    result = run_program(LIMITED + text, *arguments, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_more_large_results_than_descriptors(run_program):
    assert limited(
        run_program,
        """
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
arrays = dt.wait([make(5000, float(i)) for i in range(1000)])
print(all((array == i).all() for i, array in enumerate(arrays)))
print(dt.wait(total(*arrays)) == 5000 * sum(range(1000)))
sums = [total(np.full(5000, float(i))) for i in range(1000)]
print(dt.wait(sums) == [5000.0 * i for i in range(1000)])
""",
    ) == ["True", "True", "True"]


def test_the_program_may_open_no_more_files_while_results_come(run_program):
    lines = limited(
        run_program,
        """
processes.set_size(1)
array = np.ones(5000)
print(dt.wait(increment(1)))
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

def fill():
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return taken

kept = []
for round in range(3):
    taken = fill()
    for call in (lambda: make(5000), lambda: make(1_000_000), lambda: total(array)):
        try:
            kept.append(dt.wait(call()))
            print("not reached")
        except dt.TaskFailed as failure:
            print(type(failure.__cause__).__name__, failure.__cause__.errno, "open" in str(failure))
    print(dt.wait(increment(round)))  # small things go on
    for descriptor in taken:
        os.close(descriptor)
    kept.append(dt.wait(make(5000)))
    print(kept[-1].sum(), dt.wait(total(array)))
    dt.wait(increment(0))  # the files of what was before are closed now
""",
    )
    failed = re.compile(r"(OSError|FilesLost) 24 True")
    assert lines[0] == "2"
    for number in range(3):
        part = lines[1 + 5 * number : 6 + 5 * number]
        assert all(failed.fullmatch(line) for line in part[:3]), "\n".join(lines)
        assert part[3:] == [str(number + 1), "5000.0 5000.0"], lines


def test_a_worker_that_may_open_no_more_files_says_so_and_goes_on(run_program):
    assert limited(
        run_program,
        """
processes.set_size(1)

@dt.task(process=True)
def fill():
    import os, resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    import builtins
    builtins.taken = []
    try:
        while True:
            builtins.taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass

@dt.task(process=True)
def empty():
    import builtins, os
    for descriptor in builtins.taken:
        os.close(descriptor)

array = np.ones(5000)
dt.wait([increment(1), total(array), make(10)])
dt.wait(fill())
for future in [total(array), make(5000), increment("x" * 200_000)]:
    try:
        print(dt.wait(future))
    except dt.TaskFailed as failure:
        print("failed", "open" in str(failure))
print(dt.wait(increment(1)))
dt.wait(empty())
print(dt.wait(total(array)), dt.wait(make(5000)).sum())
""",
    ) == ["failed True"] * 3 + ["2", "5000.0 5000.0"]


def test_address_space_that_runs_out_fails_the_task_and_no_other(run_program):
    assert limited(
        run_program,
        """
processes.set_size(1)
dt.wait([make(10), total(np.ones(10_000))])
status = open("/proc/self/statm").read().split()
size = int(status[0]) * os.sysconf("SC_PAGESIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), resource.RLIM_INFINITY))

def outcome(future):
    try:
        return dt.wait(future) is not None
    except dt.TaskFailed as failure:
        return isinstance(failure.__cause__, (OSError, MemoryError))

print(outcome(make(16 << 20)))  # 128 MiB
print(dt.wait(increment(1)))
print(dt.wait(make(100_000)).sum())

@dt.task(process=True)
def hog():
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
    return np.ones(100_000_000)

try:
    dt.wait(hog())
except dt.TaskFailed as failure:
    print("failed")
processes.kill_all()
print(dt.wait(increment(2)))
""",
    ) == ["True", "2", "100000.0", "failed", "3"]


def test_processes_that_end_while_they_start(run_program):
    assert limited(
        run_program,
        """
python, sys.executable = sys.executable, "/bin/false"
for future in [increment(i) for i in range(5)]:
    try:
        dt.wait(future)
    except dt.TaskFailed as failure:
        print("ended with status 1 while it ran task 'increment'" in str(failure))
sys.executable = python
print(dt.wait(increment(1)))
""",
    ) == ["True"] * 5 + ["2"]


def test_processes_that_cannot_be_started(run_program):
    """As a user for whom RLIMIT_NPROC counts."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root and setpriv, to become a user with a limit of its own")
    text = """
from dovetail import _core
dt.wait([dt.task(len)("ab") for _ in range(4)])   # threads of the runtime
processes.the_pool()
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
for _ in range(3):
    try:
        dt.wait(increment(1))
    except dt.TaskFailed as failure:
        print(type(failure.__cause__).__name__, "no worker process can be started for task 'increment'" in str(failure))
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
"""
    program = LIMITED + text
    capabilities = "-all,+dac_override,+dac_read_search"
    done = hangs.run(
        [setpriv, "--reuid", "54321", "--clear-groups", "--inh-caps", capabilities, "--ambient-caps", capabilities]
        + ["--", sys.executable, "-c", program],
        timeout=100,
        cwd="/",
    )
    if "setpriv" in done.stderr and done.returncode != 0:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["BlockingIOError True"] * 3, done.stderr


def test_fewer_processes_are_enough(monkeypatch):
    """When one runs and a second cannot be started, everything is done by the first."""
    started = []
    popen = subprocess.Popen

    def one_only(*arguments, **options):
        if started:
            raise BlockingIOError(11, os.strerror(11))
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", one_only)
    processes.set_size(3)
    try:
        assert dt.wait([echo(i) for i in range(200)]) == list(range(200))
    finally:
        processes.set_size(0)
    assert len(started) == 1


def test_arrays_need_no_room_in_dev_shm(run_program):
    """With a /dev/shm that has no room at all, mounted for this program only."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare, to mount a /dev/shm of its own")
    mount = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero > /dev/shm/full && exec "$@"'
    text = "\nassert os.statvfs('/dev/shm').f_bavail == 0\nprint(dt.wait(total(make(1_000_000))))\n"
    done = hangs.run(
        [unshare, "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", LIMITED + text],
        timeout=100,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout) == (0, "1000000.0\n"), done.stderr


def test_numerical_libraries_take_no_more_threads_than_there_are_cores(monkeypatch):
    @dt.task(process=True)
    def threads():
        matrix = np.ones((1200, 1200))
        for _ in range(2):
            matrix @ matrix
        return len(os.listdir("/proc/self/task")), os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"]

    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    # The thread that computes, and the one that looks after the program.
    assert dt.wait(threads()) == (2, "1", "1")
    processes.kill_all()
    # What the user says counts.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert dt.wait(threads())[1:] == ("3", "1")
