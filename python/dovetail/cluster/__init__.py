"""The same program on many machines: Dask `distributed` places the tasks, Dovetail orders them and admits their I/O. See docs/cluster.md.

The dependency graph, the objects and the failures stay with the runtime of the program, the driver. What it sends to the cluster are calls that are
ready to run, with their arguments. So every rule of one machine holds on many.
"""

from .connection import Cluster

__all__ = ["Cluster"]
