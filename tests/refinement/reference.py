"""Refinement in plain NumPy and one process: what the example must compute, to the last bit. It shares nothing with it.

A mesh is a dictionary: from a cube, (level, x, y, z), to its values, an array with the axes variable, z, y, x.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy

DEEPEST, DOMAIN, GOLDEN = 10, 1 << 20, 0x9E3779B97F4A7C15
BEGIN, END = (20, 30, 45), (80, 65, 50)  # of the way of the sphere, in percent
Cube = tuple[int, int, int, int]
Mesh = dict[Cube, numpy.ndarray]


@dataclass(frozen=True)
class Case:
    """What the options of these names mean."""

    edge: int
    variables: int
    coarsest: int
    finest: int
    radius: int
    refinements: int
    stages: int

    def arguments(self) -> list[object]:
        return [word for name, value in vars(self).items() for word in (f"--{name}", value)]


def code(cube: Cube) -> int:
    level, *at = cube
    curve = 0
    for bit in reversed(range(level)):
        for place in reversed(at):
            curve = curve << 1 | place >> bit & 1
    return curve << 3 * (DEEPEST - level) << 4 | level


def parent(cube: Cube) -> Cube:
    return (cube[0] - 1, *(place // 2 for place in cube[1:]))


def children(cube: Cube) -> list[Cube]:
    level, x, y, z = cube
    return [(level + 1, 2 * x + i, 2 * y + j, 2 * z + k) for k, j, i in itertools.product((0, 1), repeat=3)]


def step(cube: Cube, axis: int, by: int) -> Cube | None:
    """The cube beside it. `axis`: 0 is x."""
    moved = list(cube)
    moved[1 + axis] += by
    return tuple(moved) if 0 <= moved[1 + axis] < 1 << cube[0] else None


def neighbours(cubes: set[Cube] | Mesh, cube: Cube) -> list[Cube]:
    found = []
    for axis, by in itertools.product(range(3), (-1, 1)):
        other = step(cube, axis, by)
        if other is None:
            continue
        near = [child for child in children(other) if (child[1 + axis] & 1) == (by < 0)]
        found += [c for c in (other, parent(other), *near) if c in cubes]
    return found


def touches(case: Case, turn: int, cube: Cube) -> bool:
    edge, near, far = DOMAIN >> cube[0], 0, 0
    for place, begin, end in zip(cube[1:], BEGIN, END, strict=True):
        center = begin * DOMAIN // 100 + (end - begin) * DOMAIN // 100 * turn // max(1, case.refinements)
        low, high = place * edge - center, (place + 1) * edge - center
        near += max(low, -high, 0) ** 2
        far += max(-low, high) ** 2
    return near <= (case.radius * DOMAIN // 100) ** 2 <= far


def levels(case: Case, turn: int, cubes: set[Cube]) -> dict[Cube, int]:
    """The level that each cube is to have: what the sphere wants, raised until all rules hold."""
    wanted = {}
    for cube in cubes:
        if touches(case, turn, cube):
            wanted[cube] = min(cube[0] + 1, case.finest)
        else:
            wanted[cube] = max(cube[0] - 1, case.coarsest)
    while True:
        raised = {}
        for cube, level in wanted.items():
            needed = max((wanted[other] - 1 for other in neighbours(cubes, cube)), default=0)
            if level < cube[0] and any(wanted.get(other, 99) >= cube[0] for other in children(parent(cube))):
                needed = max(needed, cube[0])
            if needed > level:
                raised[cube] = needed
        if not raised:
            return wanted
        wanted |= raised


def follow(wanted: dict[Cube, int]) -> set[Cube]:
    cubes: set[Cube] = set()
    for cube, level in wanted.items():
        cubes |= set(children(cube)) if level > cube[0] else {cube if level == cube[0] else parent(cube)}
    return cubes


def fill(case: Case, cube: Cube) -> numpy.ndarray:
    count = case.variables * case.edge**3
    x = numpy.arange(1, count + 1, dtype=numpy.uint64) + numpy.uint64(code(cube) << 20)
    x *= numpy.uint64(GOLDEN)
    x ^= x >> numpy.uint64(32)
    x *= numpy.uint64(GOLDEN)
    x ^= x >> numpy.uint64(29)
    values = (x >> numpy.uint64(11)).astype(float) * 2.0**-53
    return values.reshape(case.variables, case.edge, case.edge, case.edge)


def halves(cube: Cube, edge: int) -> tuple[slice, ...]:
    """Where the cube is within its parent."""
    return (slice(None), *(slice((p & 1) * edge // 2, ((p & 1) + 1) * edge // 2) for p in reversed(cube[1:])))


def restricted(values: numpy.ndarray) -> numpy.ndarray:
    total = numpy.zeros_like(values[:, ::2, ::2, ::2])
    for k, j, i in itertools.product((0, 1), repeat=3):
        total = total + values[:, k::2, j::2, i::2]
    return total / 8


def repeated(values: numpy.ndarray, *axes: int) -> numpy.ndarray:
    for axis in axes:
        values = values.repeat(2, axis)
    return values


def transfer(case: Case, mesh: Mesh, cubes: set[Cube]) -> Mesh:
    made = {}
    for cube in cubes:
        if cube in mesh:
            made[cube] = mesh[cube]
        elif parent(cube) in mesh:
            made[cube] = repeated(mesh[parent(cube)][halves(cube, case.edge)], 1, 2, 3)
        else:
            made[cube] = numpy.empty((case.variables, case.edge, case.edge, case.edge))
            for child in children(cube):
                made[cube][halves(child, case.edge)] = restricted(mesh[child])
    return made


def beyond(case: Case, mesh: Mesh, cube: Cube, axis: int, by: int) -> numpy.ndarray:
    """The layer of cells beside the cube: variable, then the two other axes, the higher first."""
    layer = lambda values, last: values.take(-1 if last else 0, 3 - axis)  # noqa: E731
    other = step(cube, axis, by)
    if other is None:
        return layer(mesh[cube], by > 0)
    if other in mesh:
        return layer(mesh[other], by < 0)
    if parent(other) in mesh:
        part = layer(mesh[parent(other)], by < 0)
        low, high = (place for number, place in enumerate(cube[1:]) if number != axis)
        half = case.edge // 2
        part = part[:, (high & 1) * half : (high & 1) * half + half, (low & 1) * half : (low & 1) * half + half]
        return repeated(part, 1, 2)
    whole = numpy.empty((case.variables, case.edge, case.edge))
    half = case.edge // 2
    for child in children(other):
        if (child[1 + axis] & 1) == (by < 0):
            near = layer(mesh[child], by < 0)
            mean = (near[:, ::2, ::2] + near[:, ::2, 1::2] + near[:, 1::2, ::2] + near[:, 1::2, 1::2]) / 4
            low, high = (place & 1 for number, place in enumerate(child[1:]) if number != axis)
            whole[:, high * half : high * half + half, low * half : low * half + half] = mean
    return whole


def update(case: Case, mesh: Mesh, cube: Cube) -> numpy.ndarray:
    total = mesh[cube]
    for axis in range(3):
        for by in (-1, 1):
            other = numpy.roll(mesh[cube], -by, 3 - axis)
            edge = [slice(None)] * 4
            edge[3 - axis] = -1 if by > 0 else 0
            other[tuple(edge)] = beyond(case, mesh, cube, axis, by)
            total = total + other
    return total / 7


def sums(case: Case, mesh: Mesh) -> list[float]:
    totals = [0.0] * case.variables
    for cube in sorted(mesh, key=code):
        for variable in range(case.variables):
            totals[variable] += mesh[cube][variable].reshape(-1).cumsum()[-1]
    return totals


def compute(case: Case) -> tuple[bytes, int]:
    """The file that the example must write, and how many blocks it must update."""
    places = itertools.product(range(1 << case.coarsest), repeat=3)
    cubes: set[Cube] = {(case.coarsest, *place) for place in places}
    for _ in range(case.coarsest, case.finest):
        cubes = follow(levels(case, 0, cubes))
    mesh = {cube: fill(case, cube) for cube in cubes}
    all_sums, updates = [], 0
    for turn in range(case.refinements + 1):
        if turn > 0:
            mesh = transfer(case, mesh, follow(levels(case, turn, set(mesh))))
        for _ in range(case.stages):
            mesh = {cube: update(case, mesh, cube) for cube in mesh}
            updates += len(mesh)
        all_sums += sums(case, mesh)
    blocks = b"".join(
        code(cube).to_bytes(8, "little") + mesh[cube].astype("<f8").tobytes() for cube in sorted(mesh, key=code)
    )
    return numpy.array(all_sums, dtype="<f8").tobytes() + blocks, updates
