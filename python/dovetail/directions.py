"""What a task does with a parameter: `@dt.task(a=dt.INOUT)`.

Without a direction a parameter is read (`IN`). Directions apply to objects that can change. NumPy arrays count by their bytes in
memory, so that overlapping views are ordered; other objects by identity. Lists, tuples and dictionaries are searched for such
objects. The `FILE_` directions are for parameters that are paths.
"""

from __future__ import annotations

from ._core import Direction as Direction

IN = Direction.IN
OUT = Direction.OUT
INOUT = Direction.INOUT
COMMUTATIVE = Direction.COMMUTATIVE
FILE_IN = Direction.FILE_IN
FILE_OUT = Direction.FILE_OUT
FILE_INOUT = Direction.FILE_INOUT
FILE_COMMUTATIVE = Direction.FILE_COMMUTATIVE
UNORDERED = Direction.UNORDERED
