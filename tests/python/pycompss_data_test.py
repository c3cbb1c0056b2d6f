"""What PyCOMPSs programs find in results, files and what a group was to change."""

HEADER = """
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.parameter import *
from pycompss.api.task import task

"""


def test_names_of_files_come_back_as_they_were_given(lines_of, tmp_path):
    assert lines_of(
        """
        os.chdir(sys.argv[1])

        @task(path=FILE_OUT)
        def write(path):
            open(path, "w").close()

        write("a")
        write("b")
        names = ["a", ("b", "c")]
        print(compss_wait_on_file(names), compss_wait_on_file("a", "b"), compss_wait_on_file("a"))
        print(compss_file_exists(names), compss_file_exists("c"), compss_file_exists("a", "c"))
        print(compss_delete_file(names), compss_file_exists(names), compss_wait_on_directory(["d"]))
        """,
        tmp_path,
    ) == [
        "['a', ('b', 'c')] ['a', 'b'] a",
        "[True, (True, False)] False [True, False]",
        "[True, (True, True)] [False, (False, False)] ['d']",
    ]
