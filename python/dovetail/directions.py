"""What a task does with a parameter: `@dt.task(a=dt.INOUT)`.

Without a direction a parameter is read (`IN`). Directions apply to objects that can change. NumPy arrays count by their bytes in
memory, so that overlapping views are ordered; other objects by identity. Lists, tuples and dictionaries are searched for such
objects. The `FILE_` directions are for parameters that are paths.
"""

from __future__ import annotations

from ._core import Direction as Direction

IN = Direction.IN
"""The task reads the argument. So does one without a direction."""
OUT = Direction.OUT
"""The task overwrites the argument, without looking at what was there."""
INOUT = Direction.INOUT
"""The task reads and changes the argument."""
COMMUTATIVE = Direction.COMMUTATIVE
"""The task reads and changes the argument. Such tasks run one at a time, in any order."""
FILE_IN = Direction.FILE_IN
"""The argument is the path of a file that the task reads."""
FILE_OUT = Direction.FILE_OUT
"""The argument is the path of a file that the task overwrites or makes."""
FILE_INOUT = Direction.FILE_INOUT
"""The argument is the path of a file that the task reads and changes."""
FILE_COMMUTATIVE = Direction.FILE_COMMUTATIVE
"""The argument is the path of a file that the task reads and changes. Such tasks run one at a time, in any order."""
UNORDERED = Direction.UNORDERED
"""Only futures in the argument are waited for. It orders no tasks otherwise."""
