"""scripts/check_rooms.py finds every kind of violation, prints all of them, and lets a tree without one pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))

# A tree of one file of each kind, in which nothing is wrong.
CLEAN = {
    "README.md": "`src/base` `src/tasking` `bindings/c` `bindings/openmp`\n",
    "CMakeLists.txt": "dovetail_room(base)\ndovetail_room(tasking DEPENDS base AS_ONE)\ndovetail_room(c DEPENDS base SOURCES bindings/c)\n",
    "include/dovetail/task.hpp": "#pragma once\n#include <cstdint>\n",
    "src/base/clock.hpp": "#pragma once\n",
    "src/base/clock.cpp": '#include "base/clock.hpp"\n',
    "src/tasking/task.hpp": '#pragma once\n#include "base/clock.hpp"\n',
    "src/tasking/worker.cpp": '#include "tasking/task.hpp"\n#include "dovetail/task.hpp"\n',
    "tests/base/clock_test.cpp": '#include "base/clock.hpp"\n',
    "tests/base/support.hpp": "#pragma once\n",
    "tests/tasking/support.hpp": '#pragma once\n#include "base/support.hpp"\n#include "tasking/task.hpp"\n',
    "tests/whole/whole_test.cpp": '#include "tasking/task.hpp"\n#include "tasking/support.hpp"\n',
    "bindings/c/error.cpp": '#include "base/clock.hpp"\n',
    "bindings/openmp/CMakeLists.txt": "dovetail_includes_rooms(dovetail_omp base)\n",
    "bindings/openmp/calls.cpp": '#include "base/clock.hpp"\n#include "dovetail/task.hpp"\n',
    "tools/meter/CMakeLists.txt": "add_executable(meter main.cpp)\n",
    "tools/meter/main.cpp": '#include "dovetail/task.hpp"\n',
    "bench/CMakeLists.txt": "",
    "bench/harness/harness.hpp": "#pragma once\n",
    "bench/storage/CMakeLists.txt": "dovetail_use_rooms(bench)\n",
    "bench/storage/loop.cpp": '#include "harness/harness.hpp"\n#include "tasking/task.hpp"\n',
    "python/dovetail/__init__.py": "from .task import task\n",
    "python/dovetail/task.py": "import io\n\n\ndef task():\n    from . import processes\n",
    "python/dovetail/processes.py": "",
    "python/dovetail/io.py": "from . import task\n",
}


class CheckRooms(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-check-rooms-")
        self.addCleanup(self._folder.cleanup)
        self.tree = Path(self._folder.name)
        for name in ("check_rooms.py", "arrows.py", "layers.py"):
            (self.tree / "scripts").mkdir(exist_ok=True)
            shutil.copy(SOURCE / "scripts" / name, self.tree / "scripts")
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, name: str, text: str) -> None:
        self.write(name, (self.tree / name).read_text() + text)

    def check(self) -> tuple[int, list[str]]:
        """Exit status, and the errors without their first word."""
        command = [sys.executable, "-B", self.tree / "scripts" / "check_rooms.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, [line.removeprefix("error: ") for line in done.stdout.splitlines()]

    def assert_found(self, *errors: str) -> None:
        """The errors begin as these, in any order, and there are no others."""
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(len(lines), len(errors), lines)
        for error in errors:
            self.assertTrue(any(line.startswith(error) for line in lines), f"{error!r} is not among {lines}")

    def test_a_clean_tree_passes(self) -> None:
        self.assertEqual(self.check(), (0, []))

    def test_a_test_of_a_room_that_includes_one_above_it(self) -> None:
        self.append("tests/base/clock_test.cpp", '#include "tasking/task.hpp"\n')
        self.append("tests/base/support.hpp", '#include "tasking/support.hpp"\n')
        self.assert_found(
            "tests/base/clock_test.cpp:2: a test of room 'base' includes \"tasking/task.hpp\" of room 'tasking'; it may include no "
            "other room",
            "tests/base/support.hpp:2: a test of room 'base' includes \"tasking/support.hpp\" of room 'tasking'; it may include "
            "no other room",
        )

    def test_a_room_that_includes_one_above_it(self) -> None:
        self.append("src/base/clock.cpp", '#include "tasking/task.hpp"\n')
        self.assert_found(
            "src/base/clock.cpp:2: room 'base' includes \"tasking/task.hpp\" of room 'tasking'; it may include no other room"
        )

    def test_a_binding_that_is_a_room(self) -> None:
        self.append("bindings/c/error.cpp", '#include "tasking/task.hpp"\n')
        self.assert_found("bindings/c/error.cpp:2: room 'c' includes")

    def test_a_door_that_includes_a_room_it_does_not_list(self) -> None:
        self.append("bindings/openmp/calls.cpp", '#include "tasking/task.hpp"\n')
        self.assert_found(
            'bindings/openmp/calls.cpp:3: bindings/openmp includes "tasking/task.hpp"; of the rooms it may include base'
        )

    def test_a_tool_that_lists_no_room(self) -> None:
        self.append("tools/meter/main.cpp", '#include "../../src/base/clock.hpp"\n')
        self.assert_found(
            'tools/meter/main.cpp:2: tools/meter includes "../../src/base/clock.hpp"; of the rooms it may include none'
        )

    def test_a_tool_that_includes_a_benchmark(self) -> None:
        self.append("tools/meter/main.cpp", '#include "../../bench/harness/harness.hpp"\n')
        self.assert_found(
            'tools/meter/main.cpp:2: tools/meter includes "../../bench/harness/harness.hpp", which belongs to bench/harness'
        )

    def test_a_circle_through_source_files_of_a_room(self) -> None:
        self.append("src/tasking/task.hpp", '#include "tasking/graph.hpp"\n')
        self.write("src/tasking/graph.hpp", "#pragma once\n")
        self.write("src/tasking/graph.cpp", '#include "tasking/graph.hpp"\n#include "tasking/task.hpp"\n')
        self.assert_found(
            "src/tasking: 2 arrows in circles",
            "src/tasking/task.hpp:3: task needs graph, which leads back to it",
            "src/tasking/graph.cpp:2: graph needs task, which leads back to it",
        )

    def test_circles_outside_of_the_rooms(self) -> None:
        for folder in ("bindings/openmp", "tools/meter", "bench/storage"):
            self.write(f"{folder}/one.hpp", '#pragma once\n#include "two.hpp"\n')
            self.write(f"{folder}/two.hpp", "#pragma once\n")
            self.write(f"{folder}/two.cpp", '#include "one.hpp"\n')
        self.assert_found(
            "bindings/openmp: 2 arrows", "bindings/openmp/one.hpp:2: ", "bindings/openmp/two.cpp:1: ",
            "tools/meter: 2 arrows", "tools/meter/one.hpp:2: ", "tools/meter/two.cpp:1: ",
            "bench: 2 arrows", "bench/storage/one.hpp:2: ", "bench/storage/two.cpp:1: ",
        )  # fmt: skip

    def test_public_headers_in_a_circle(self) -> None:
        self.write("include/dovetail/file.hpp", '#pragma once\n#include "dovetail/task.hpp"\n')
        self.append("include/dovetail/task.hpp", '#include "dovetail/file.hpp"\n')
        self.assert_found("include: 2 arrows", "include/dovetail/file.hpp:2: ", "include/dovetail/task.hpp:3: ")

    def test_a_circle_of_modules_through_an_import_in_a_function(self) -> None:
        self.write("python/dovetail/processes.py", "import dovetail.task\n")
        self.assert_found(
            "python/dovetail: 2 arrows",
            "python/dovetail/task.py:5: task needs processes, which leads back to it",
            "python/dovetail/processes.py:1: processes needs task, which leads back to it",
        )

    def test_a_module_that_needs_the_package_that_needs_it(self) -> None:
        self.append("python/dovetail/task.py", "    from dovetail import task\n")
        self.assertEqual(self.check(), (0, []))  # the module of that name, which is itself
        self.append("python/dovetail/task.py", "    from dovetail import version\n")
        self.assert_found("python/dovetail: 2 arrows", "python/dovetail/__init__.py:1: ", "python/dovetail/task.py:7: ")

    def test_a_circle_of_scripts(self) -> None:
        self.write("bench/hdf5/measure.py", "from device import Device\n")
        self.write("bench/devices/device.py", "import measure\n")
        self.assert_found("bench: 2 arrows", "bench/hdf5/measure.py:1: ", "bench/devices/device.py:1: ")

    def test_two_circles_of_a_room(self) -> None:
        self.write("src/base/one.hpp", '#pragma once\n#include "base/two.hpp"\n')
        self.write("src/base/two.hpp", '#pragma once\n#include "base/one.hpp"\n#include "base/three.hpp"\n')
        self.write("src/base/three.hpp", '#pragma once\n#include "base/one.hpp"\n')
        self.assert_found(
            "src/base: 4 arrows in circles",
            "src/base/one.hpp:2: ", "src/base/two.hpp:2: ", "src/base/two.hpp:3: ", "src/base/three.hpp:2: ",
        )  # fmt: skip

    def test_a_room_that_the_map_leaves_out(self) -> None:
        self.write("README.md", "`src/base` `bindings/c` `bindings/openmp`\n")
        self.assert_found("README.md: the tree lacks `src/tasking`")

    def test_locks_that_clang_does_not_check(self) -> None:
        self.append("src/tasking/worker.cpp", "std::mutex lock;  // instead of ours\n// as a std::mutex\n")
        self.append("bindings/c/error.cpp", "const std::shared_lock held(lock);\n")
        self.write("src/base/mutex.hpp", "#pragma once\nstruct Mutex { std::mutex mutex; };\n")
        self.assert_found(
            "bindings/c/error.cpp:2: clang does not check std::shared_lock: take a lock of src/base/mutex.hpp",
            "src/tasking/worker.cpp:3: clang does not check std::mutex: take a lock of src/base/mutex.hpp",
        )

    def test_public_headers(self) -> None:
        self.write("include/dovetail/file.hpp", "#pragma once\n#include <sys/mman.h>\n")
        self.assert_found("include/dovetail/file.hpp:2: a public header must not include sys/mman.h")
        self.write("include/dovetail/file.hpp", "#pragma once\nstd::string name();\n")
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("include/dovetail/file.hpp does not compile alone"), lines)

    def test_texts(self) -> None:
        self.write("src/base/long.cpp", "\n" * 501)
        self.write("notes.md", "see /" + "home/somebody/notes\n")
        self.write("list.txt", "index: https://" + "py" + "pi.org\n")
        self.assert_found(
            "src/base/long.cpp: 501 lines; split it by concept",
            "notes.md:1: absolute path of a machine",
            "list.txt:1: host of a package registry",
        )

    def test_all_violations_are_printed_at_once(self) -> None:
        self.append("src/base/clock.cpp", '#include "tasking/task.hpp"\n#include "tasking/task.hpp"\n')
        self.append("bindings/openmp/calls.cpp", '#include "tasking/task.hpp"\n')
        self.append("src/base/clock.hpp", '#include "base/topology.hpp"\n')
        self.write("src/base/topology.hpp", '#pragma once\n#include "base/clock.hpp"\n')
        self.write("python/dovetail/processes.py", "import dovetail.task\n")
        status, lines = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(len(lines), 2 + 1 + 3 + 3, lines)


if __name__ == "__main__":
    unittest.main()
