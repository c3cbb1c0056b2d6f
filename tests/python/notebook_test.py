"""In a notebook: cells run in a kernel that has an event loop of its own and whose functions are in no file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CELLS = [
    """
import dovetail as dt

@dt.task
def square(x):
    return x * x
""",
    "print(dt.wait([square(i) for i in range(5)]))",
    """
@dt.task(process=True)
def cube(x):
    return x ** 3

print(dt.wait(cube(square(2))))
""",
    """
import asyncio

@dt.io
async def later(x):
    await asyncio.sleep(0)
    return x + 1

print(dt.wait(later(1)), asyncio.get_running_loop().is_running())
""",
    # Run anew, as one does.
    """
@dt.task
def square(x):
    return -x

print(dt.wait(square(3)))
""",
    """
@dt.task
def fail():
    raise ValueError("in a cell")

try:
    dt.wait(fail())
except dt.TaskFailed as failure:
    print(type(failure.__cause__).__name__, "fail" in str(failure))
""",
    """
with dt.Runtime(workers=1):
    print(dt.wait(cube(3)))
dt.barrier()
""",
]


def test_cells_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    # This interpreter, whatever kernels are installed.
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # Not by TCP: a port that is free when it is chosen may be another program's when the kernel begins.
    manager = AsyncKernelManager(transport="ipc", ip=str(tmp_path / "k"))
    manager._kernel_spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(notebook, km=manager, timeout=None)
    client.execute(cwd=str(tmp_path))
    said = [
        "".join(output["text"] for output in cell.outputs if output.get("name") == "stdout") for cell in notebook.cells
    ]
    assert said == [
        "",
        "[0, 1, 4, 9, 16]\n",
        "64\n",
        "2 True\n",
        "-3\n",
        "ValueError True\n",
        "27\n",
    ]
