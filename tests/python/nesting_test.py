"""Values that are nested deeply, in themselves, or in many places at once; containers of all types with futures in them."""

from __future__ import annotations

import collections
import dataclasses
import enum
import random
import types
import typing

import dovetail as dt
import numpy as np
import pytest


@dt.task
def identity(x):
    return x


PROGRAM = """
import sys
import dovetail as dt

@dt.task
def identity(x):
    return x

"""


def lines_of(result):
    assert result.returncode == 0, (result.returncode, result.stderr[-2000:])
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    "ends", ["dt.wait(last)", "last.result()", "dt.wait(identity(last))", "dt.wait(identity([last]))[0]"]
)
def test_a_chain_of_a_hundred_thousand_futures_of_futures(run_program, ends):
    """Each task returns the future of the one before, so that a value is behind all of them."""
    result = run_program(
        PROGRAM
        + f"""
class Keeper:
    pass

@dt.task(keeper=dt.UNORDERED)
def previous(keeper):
    return keeper.future

last = identity("value")
for _ in range(100_000):
    keeper = Keeper()
    keeper.future = last
    last = previous(keeper)
    del keeper
print({ends})
del last  # and all that it holds
dt.barrier()
print("end")
"""
    )
    assert lines_of(result) == ["value", "end"]


def test_a_hundred_thousand_tasks_behind_one_that_fails(run_program):
    result = run_program(
        PROGRAM
        + """
import threading
gate = threading.Event()

@dt.io
def bad():
    gate.wait()
    raise KeyError("first")

last = bad()
for number in range(100_000):
    last = identity(last)
    if number == 1000:
        gate.set()
try:
    dt.wait(last)
except dt.TaskFailed as failure:
    print(failure.cancelled, repr(failure.__cause__))
"""
    )
    assert lines_of(result) == ["True KeyError('first')"]


def test_a_chain_of_futures_in_containers(run_program):
    result = run_program(
        PROGRAM
        + """
class Keeper:
    pass

@dt.task(keeper=dt.UNORDERED)
def previous(keeper):
    return [{"next": (keeper.future,)}]

last = identity("value")
for _ in range(30_000):
    keeper = Keeper()
    keeper.future = last
    last = previous(keeper)
    del keeper
value, depth = dt.wait(last), 0
while value != "value":
    value, depth = value[0]["next"][0], depth + 1
print(depth)
"""
    )
    assert lines_of(result) == ["30000"]


@pytest.mark.parametrize(
    "result_of_task", ["box[0]", "[box[0]]", "(1, {'a': box})", "{'x': collections.deque(box)}", "box[0]._item(0)"]
)
@pytest.mark.parametrize("ends", ["dt.wait(future)", "future.result()", "dt.wait(dt.task(lambda x: x)(future))"])
def test_a_result_that_contains_its_own_future_is_refused(run_program, result_of_task, ends):
    result = run_program(
        f"""
import collections
import threading
import dovetail as dt

box, there = [], threading.Event()

@dt.io(label="snake")
def body():
    there.wait()
    return {result_of_task}

future = body()
box.append(future)
there.set()
try:
    print({ends})
except (ValueError, TypeError, dt.TaskFailed) as error:
    print(type(error.__cause__ or error).__name__, error)
"""
    )
    (line,) = lines_of(result)
    if "_item" in result_of_task:
        assert "Error" in line
    else:
        assert line.startswith("ValueError") and "the result of task 'snake' contains the future of that result" in line


def test_two_results_that_contain_each_others_futures_are_refused(run_program):
    result = run_program(
        """
import threading
import dovetail as dt

box, there = [], threading.Event()

@dt.io
def body(i):
    there.wait()
    return [box[1 - i]]

box += [body(0), body(1)]
there.set()
for future in box:
    try:
        print(dt.wait(future))
    except ValueError as error:
        print("contains the future" in str(error))
"""
    )
    assert lines_of(result) == ["True", "True"]


def test_values_and_arguments_nested_deeply(run_program):
    result = run_program(
        PROGRAM
        + """
def nested(depth, inner):
    for i in range(depth):
        inner = (inner,) if i % 3 == 0 else [inner] if i % 3 == 1 else {"a": inner}
    return inner

def depth_of(value):
    depth = 0
    while not isinstance(value, int):
        value, depth = value["a"] if isinstance(value, dict) else value[0], depth + 1
    return depth

@dt.task
def make(depth):
    return nested(depth, 1)

@dt.task
def measure(value):
    return depth_of(value)

print(depth_of(dt.wait(make(100_000))))
print(dt.wait(measure(make(100_000))))
print(dt.wait(measure(nested(100_000, 1))), dt.wait(measure(nested(100_000, identity(1)))))
print(depth_of(dt.wait(nested(100_000, identity(7)))))
"""
    )
    assert lines_of(result) == ["100000", "100000", "100000 100000", "100000"]


def test_what_contains_itself_is_passed_and_returned_as_it_is():
    values = [1]
    values.append(values)

    @dt.task(x=dt.INOUT)
    def grow(x):
        x.append(2)
        return x

    assert dt.wait(identity(values)) is values
    assert dt.wait(grow(values)) is values
    assert dt.wait(values) is values and values[2] == 2
    table = {"list": values}
    values.append(table)
    assert dt.wait(table) is table
    values.append(identity(1))
    with pytest.raises(ValueError, match="'list' contains itself and a future"):
        dt.wait(values)
    with pytest.raises(dt.TaskFailed, match="'list' contains itself and a future"):
        dt.wait(identity(values))


def test_a_list_of_paths_that_contains_itself(tmp_path):
    @dt.task(paths=dt.FILE_IN)
    def body(paths):
        return len(paths)

    paths = [str(tmp_path / "a")]
    paths.append(paths)
    assert dt.wait(body(paths)) == 2


def test_what_is_in_many_places_is_looked_at_once():
    """Two to the power of sixty ways lead to the innermost list."""
    inner = [identity(1)]
    plain = value = [0]
    for _ in range(60):
        inner = [inner, inner]
        plain = [plain, plain]
    got = dt.wait(inner)
    for _ in range(60):
        assert got[0] is got[1]
        got = got[0]
    assert got == [1]
    assert dt.wait(plain) is plain and dt.wait(identity(plain)) is plain
    got = dt.wait(identity(inner))
    for _ in range(60):
        got = got[1]
    assert got == [1] and value == [0]


class Names(list):
    pass


class Table(dict):
    pass


class Bag(set):
    pass


class Fixed(frozenset):
    pass


class Pair(typing.NamedTuple):
    first: object
    second: object = 2


class Coordinates(tuple):
    pass


@dataclasses.dataclass
class Plain:
    a: object
    b: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: object
    b: object = dataclasses.field(default=None, compare=False)


class Colour(enum.Enum):
    red = 1


def with_attribute(value):
    value.note = "kept"
    return value


CONTAINERS = {
    "tuple": lambda x: (0, x),
    "list": lambda x: [0, x],
    "dict": lambda x: {"k": x},
    "set": lambda x: {0, x},
    "frozenset": lambda x: frozenset([0, x]),
    "named tuple": lambda x: Pair(x),
    "tuple's subclass": lambda x: Coordinates((0, x)),
    "list's subclass": lambda x: with_attribute(Names([0, x])),
    "dict's subclass": lambda x: with_attribute(Table(k=x)),
    "set's subclass": lambda x: with_attribute(Bag([0, x])),
    "frozenset's subclass": lambda x: Fixed([0, x]),
    "defaultdict": lambda x: collections.defaultdict(list, k=x),
    "OrderedDict": lambda x: collections.OrderedDict([("z", 0), ("k", x), ("a", 1)]),
    "Counter": lambda x: collections.Counter(k=x),
    "deque": lambda x: collections.deque([0, x], maxlen=2),
    "dataclass": lambda x: Plain(x, [x]),
    "frozen dataclass": lambda x: Frozen(x, {"k": x}),
}


def describe(value):
    extra = [getattr(value, name, None) for name in ("note", "maxlen", "default_factory")]
    items = list(value.items()) if isinstance(value, dict) else value
    return type(value), items, extra


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_keep_their_type_and_futures_in_them_are_waited_for(name):
    build = CONTAINERS[name]

    @dt.task
    def look(value, *, deep):
        return describe(value), describe(deep["x"][0])

    @dt.task
    def make_with(value):
        return build(identity(value))

    expected = describe(build(5))
    future = identity(5)
    given = build(future)
    before = describe(given)
    assert describe(dt.wait(given)) == expected
    assert dt.wait(look(given, deep={"x": (build(identity(5)),)})) == (expected, expected)
    assert describe(given) == before, "what the caller handed over is as it was"
    assert describe(dt.wait(make_with(5))) == expected
    assert describe(dt.wait(identity(make_with(5)))) == expected
    plain = build(5)
    assert dt.wait(plain) is plain and dt.wait(identity(plain)) is plain


def test_futures_in_containers_order_tasks():
    """The producer is certainly not done when the consumer is made."""
    import threading

    for name, build in CONTAINERS.items():
        gate = threading.Event()

        @dt.io
        def late(gate=gate):
            gate.wait()
            return 5

        after = identity(build(late()))
        gate.set()
        assert describe(dt.wait(after)) == describe(build(5)), name


def test_a_container_that_cannot_be_made_anew_is_refused():
    class Triple(tuple):
        def __new__(cls, a, b, c):
            return super().__new__(cls, (a, b, c))

    class Items(tuple):
        def __new__(cls, *items):
            return super().__new__(cls, items)

    @dataclasses.dataclass
    class Copied:
        a: object

        def __copy__(self):
            return None

    for value, text in (
        (Triple(1, 2, identity(3)), "'Triple' with futures in it cannot be made anew"),
        (Items(1, identity(2)), "'Items' with futures in it cannot be made anew .*does not have these items"),
        ({identity([])}, "'set' with futures in it cannot be made anew .*unhashable"),
        (Copied(identity(1)), "'Copied' with futures in it cannot be made anew .*makes a 'NoneType' of it"),
    ):
        with pytest.raises(TypeError, match=text):
            dt.wait(value)
        with pytest.raises(dt.TaskFailed, match=text):
            dt.wait(identity(value))


def objects(*items):
    array = np.empty((1, len(items)), object)
    array[0, :] = items
    return array


CLOSED = {
    "ChainMap": lambda x: collections.ChainMap({}, {"k": x}),
    "UserDict": lambda x: collections.UserDict(k=x),
    "UserList": lambda x: collections.UserList([0, x]),
    "mappingproxy": lambda x: types.MappingProxyType({"k": x}),
    "dict_values": lambda x: {"k": x}.values(),
    "dict_items": lambda x: {"k": x}.items(),
    "numpy.ndarray": lambda x: objects(0, x),
}


@pytest.mark.parametrize("name", CLOSED)
def test_futures_in_containers_that_cannot_hold_values_are_refused(name):
    build = CLOSED[name]
    text = f"a '{name}' with futures in it cannot be made anew"
    for item in (identity(1), [identity(1)], {"k": build(identity(1))}):
        with pytest.raises(TypeError, match=text):
            dt.wait(build(item))
        with pytest.raises(dt.TaskFailed, match=text):
            dt.wait(identity(build(item)))
    for item in (1, [1], {"k": build(1)}):
        plain = build(item)
        assert dt.wait(plain) is plain
        assert dt.wait(identity(plain)) is plain


def test_a_future_as_a_key_is_refused():
    for value in ({identity(1): 2}, collections.OrderedDict([(identity(1), identity(2))])):
        with pytest.raises(TypeError, match="a future is a key of it"):
            dt.wait(value)
        with pytest.raises(dt.TaskFailed, match="a future is a key of it"):
            dt.wait(identity([value]))


def test_arrays_of_objects_order_tasks_by_their_bytes():
    array = objects(1, 2)

    @dt.task(x=dt.INOUT)
    def double(x):
        x *= 2

    for _ in range(3):
        double(array[:, :1])
        double(array[:, 1:])
    assert dt.wait(array).tolist() == [[8, 16]]


def test_arrays_in_fields_and_attributes_order_nothing():
    """What an object keeps does not count: a field of a dataclass can be used by tasks beside it."""
    array = np.zeros(3)

    @dt.task(x=dt.INOUT)
    def change(x):
        if isinstance(x, Plain):
            x.b.append(1)
        else:
            x += 1

    thing = Plain(array)
    change(thing)
    change(array)
    assert dt.wait(thing) is thing and thing.b == [1]
    assert dt.wait(array)[0] == 1


def test_random_nesting_against_plain_values():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    builders = [build for name, build in CONTAINERS.items() if "set" not in name and name != "Counter"]

    def value(depth, leaf):
        kind = rng.random()
        if depth == 0 or kind < 0.2:
            return leaf(rng.randrange(100))
        return rng.choice(builders)(value(depth - 1, leaf))

    for _ in range(200):
        state = rng.getstate()
        with_futures = value(6, identity)
        rng.setstate(state)
        plain = value(6, lambda x: x)
        assert dt.wait(with_futures) == plain
        assert dt.wait(identity(with_futures)) == plain
