"""In a notebook: h5py in a kernel that goes on living between cells and is ended by another process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import support

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("h5py")

CELLS = [
    "import h5py, numpy as np, os",
    # Left open by this cell, as notebooks do.
    "file = h5py.File('open.h5', 'w'); file['a'] = np.arange(500_000)",
    "print(int(file['a'][()].sum())); file.flush()",
    # Run anew: the name is bound to another file while the first one is open.
    "file = h5py.File('other.h5', 'w'); file['a'] = np.arange(10)",
    "file.close(); print(os.path.getsize('other.h5') > 80)",
    "with h5py.File('closed.h5', 'w') as inner:\n    inner['step 1'] = np.ones(300_000)",
    "print(float(h5py.File('closed.h5')['step 1'][()].sum()))",
    "try:\n    h5py.File('closed.h5', 'r')['none']\nexcept KeyError as error:\n    print('KeyError')",
    "file = h5py.File('left open.h5', 'w'); file['b'] = np.arange(1000); file.flush()",
]


def test_cells_see_what_earlier_ones_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    # This interpreter, whatever kernels are installed, and the connector for it alone.
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    connector = {name: value for name, value in support.under_dovetail().items() if name.startswith("HDF5_")}
    # Not by TCP: a port that is free when it is chosen may be another program's when the kernel begins.
    manager = AsyncKernelManager(transport="ipc", ip=str(tmp_path / "k"))
    manager._kernel_spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], env=connector
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(notebook, km=manager, timeout=None)
    client.execute(cwd=str(tmp_path))
    said = ["".join(output.get("text", "") for output in cell.outputs).split() for cell in notebook.cells]
    assert [words for words in said if words] == [["124999750000"], ["True"], ["300000.0"], ["KeyError"]]
    # The kernel is gone, and with it nothing that had been flushed or closed.
    check = "import h5py; print(h5py.File('closed.h5')['step 1'][5], h5py.File('left open.h5')['b'][7])"
    ended = support.run_python(check, environment=support.clean(HDF5_USE_FILE_LOCKING="FALSE"), folder=tmp_path)
    assert ended.expect(0).output.split() == ["1.0", "7"]
