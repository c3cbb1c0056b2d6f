"""`pycompss.dds`: collections in parts, worked on by one task for each part."""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .api import compss_wait_on
from .parameter import named
from .task import PyCompssTask

__all__ = ["DDS"]

_NOTHING = object()
Part = Callable[[Any], Iterable[Any]]


def _task(function: Callable[..., Any], returns: int = 1, **directions: str) -> PyCompssTask:
    return PyCompssTask(function, {"returns": returns, **{name: named(text) for name, text in directions.items()}})


def _mapped(function: Part, part: Any) -> list[Any]:
    return list(function(part))


def _saved(function: Part, part: Any, path: str, as_text: bool) -> None:
    if as_text:
        with open(path, "w") as text:
            text.writelines(f"{item}\n" for item in function(part))
        return
    with open(path, "wb") as file:
        pickle.dump(list(function(part)), file)


def _dealt(function: Part, part: Any, place_of: Callable[[Any], int], count: int) -> Any:
    """The pairs in as many lists, by their keys."""
    lists: list[list[Any]] = [[] for _ in range(count)]
    for pair in function(part):
        lists[place_of(pair[0]) % count].append(pair)
    return lists[0] if count == 1 else lists


def _joined(lists: list[list[Any]]) -> list[Any]:
    return list(itertools.chain.from_iterable(lists))


def _folded(function: Callable[[Any, Any], Any], values: list[Any], initial: Any) -> Any:
    return functools.reduce(function, values if initial is _NOTHING else [initial, *values])


def _merged(counts: list[list[dict[Any, int]]]) -> list[dict[Any, int]]:
    total: Counter[Any] = Counter()
    for part in counts:
        total.update(part[0])
    return [dict(total)]


def _total(counts: list[list[dict[Any, int]]]) -> dict[Any, int]:
    return _merged(counts)[0]


def _pairs(total: dict[Any, int], count: int) -> Any:
    """The items of the dictionary in as many lists."""
    lists = _split(list(total.items()), count)
    return lists[0] if count == 1 else lists


def _read(path: str) -> list[tuple[str, str]]:
    with open(path) as file:
        return [(path, file.read())]


def _unpickled(path: str) -> list[Any]:
    with open(path, "rb") as file:
        return list(pickle.load(file))


_map = _task(_mapped)
_save = _task(_saved, 0, path="FILE_OUT")
_join = _task(_joined, lists="COLLECTION_IN")
_fold = _task(_folded, values="COLLECTION_IN")
_merge = _task(_merged, counts="COLLECTION_IN")
_sum = _task(_total, counts="COLLECTION_IN")
_read_file = _task(_read, path="FILE_IN")
_unpickle = _task(_unpickled, path="FILE_IN")


def _same(part: Iterable[Any]) -> Iterable[Any]:
    return part


def _files_in(folder: str) -> list[str]:
    return [entry.path for entry in sorted(os.scandir(folder), key=lambda entry: entry.name) if entry.is_file()]


def _split(items: list[Any], count: int) -> list[list[Any]]:
    """As many lists of nearly the same length."""
    ends = [len(items) * place // count for place in range(count + 1)]
    return [items[begin:end] for begin, end in itertools.pairwise(ends)]


class DDS:
    """A collection in parts. What maps and filters waits until the items are needed: a task then does all of it for one part.

    Functions get copies of nothing: as in other tasks, they do not change the items that they get.
    """

    def __init__(self, parts: Iterable[Any] = (), function: Part = _same) -> None:
        self.partitions = list(parts)
        self._function = function

    # Where items come from. These add parts, and return the collection itself.

    def _with(self, parts: Iterable[Any]) -> DDS:
        self.partitions += parts
        return self

    def load(self, iterator: Iterable[Any], num_of_parts: int = 10, paac: bool = False) -> DDS:
        """The items, in so many parts. -1: each item is a part, such as the list that a task is to return, and there are no others."""
        items = list(iterator)
        if num_of_parts == -1:
            self.partitions = items
            return self
        return self._with(_split(items, num_of_parts))

    def load_file(self, file_path: str, chunk_size: int = 1024, worker_read: bool = False) -> DDS:
        """The text of a file in pieces of so many characters, each of which is an item and a part."""
        with open(file_path) as file:
            return self._with([[piece] for piece in iter(lambda: file.read(chunk_size), "")])

    def load_text_file(self, file_name: str, chunk_size: int = 1024, in_bytes: bool = True, strip: bool = True) -> DDS:
        """The lines of a file, with `strip` without what ends them. A part has so many lines, or lines of about so many bytes."""
        parts: list[list[str]] = []
        size = chunk_size
        with open(file_name) as file:
            for line in file:
                if size >= chunk_size:
                    parts.append([])
                    size = 0
                parts[-1].append(line.rstrip("\r\n") if strip else line)
                size += len(line) if in_bytes else 1
        return self._with(parts)

    def load_files_from_dir(self, dir_path: str, num_of_parts: int = -1) -> DDS:
        """Pairs of path and text, of all files in a folder. They are read by tasks."""
        parts = [_read_file(path) for path in _files_in(dir_path)]
        # The program may remove the files as soon as they are loaded.
        parts = compss_wait_on(parts) if parts else []
        return self._with(parts if num_of_parts == -1 else _split(_joined(parts), num_of_parts))

    def load_pickle_files(self, dir_path: str) -> DDS:
        """A part for each file of a folder, as `save_as_pickle` makes them."""
        return self._with([_unpickle(path) for path in _files_in(dir_path)])

    # What is made of them. These return another DDS.

    def union(self, *args: DDS) -> DDS:
        """The items of this and the others."""
        return DDS([part for one in (self, *args) for part in one._parts()])

    def map_partitions(self, func: Part) -> DDS:
        """What the function makes of the iterator of a part."""
        inner = self._function
        return DDS(self.partitions, lambda part: func(inner(part)))

    def map(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> DDS:
        """The function's value for each item."""
        return self.map_partitions(lambda items: (func(item, *args, **kwargs) for item in items))

    def flat_map(self, func: Callable[..., Iterable[Any]], *args: Any, **kwargs: Any) -> DDS:
        """The items of the function's value for each item."""
        return self.map_partitions(lambda items: (new for item in items for new in func(item, *args, **kwargs)))

    def filter(self, func: Callable[[Any], Any]) -> DDS:
        """The items for which the function is true."""
        return self.map_partitions(lambda items: (item for item in items if func(item)))

    def key_by(self, func: Callable[[Any], Any]) -> DDS:
        """Pairs of the function's value and the item."""
        return self.map(lambda item: (func(item), item))

    def keys(self) -> DDS:
        """The first of each pair."""
        return self.map(operator.itemgetter(0))

    def values(self) -> DDS:
        """The second of each pair."""
        return self.map(operator.itemgetter(1))

    def map_values(self, func: Callable[[Any], Any]) -> DDS:
        """Pairs of the key and the function's value for the other."""
        return self.map(lambda pair: (pair[0], func(pair[1])))

    def flatten_by_key(self, func: Callable[[Any], Iterable[Any]]) -> DDS:
        """Pairs of the key and each item of the function's value."""
        return self.flat_map(lambda pair: ((pair[0], value) for value in func(pair[1])))

    def distinct(self) -> DDS:
        """Each item once."""
        return self.map(lambda item: (item, None)).reduce_by_key(lambda first, _: first).keys()

    def partition_by(self, partitioner_func: Callable[[Any], int] = hash, num_of_partitions: int = -1) -> DDS:
        """Pairs, dealt to parts by the function's value for the key."""
        count = len(self.partitions) if num_of_partitions == -1 else num_of_partitions
        if count < 1:
            return DDS()
        deal = _task(_dealt, count)
        dealt = [deal(self._function, part, partitioner_func, count) for part in self.partitions]
        columns = [dealt] if count == 1 else [[row[place] for row in dealt] for place in range(count)]
        return DDS([_join(column) for column in columns])

    def combine_by_key(
        self,
        creator_func: Callable[[Any], Any],
        combiner_func: Callable[[Any, Any], Any],
        merger_function: Callable[[Any, Any], Any],
        total_parts: int = -1,
    ) -> DDS:
        """One pair for each key: of the first value by `creator_func`, with further ones by `combiner_func`, parts by `merger_function`."""

        def within(make: Callable[[Any], Any], add: Callable[[Any, Any], Any]) -> Part:
            def combined(pairs: Iterable[Any]) -> Iterable[Any]:
                found: dict[Any, Any] = {}
                for key, value in pairs:
                    found[key] = add(found[key], value) if key in found else make(value)
                return found.items()

            return combined

        parts = self.map_partitions(within(creator_func, combiner_func)).partition_by(num_of_partitions=total_parts)
        return parts.map_partitions(within(lambda value: value, merger_function))

    def reduce_by_key(self, func: Callable[[Any, Any], Any]) -> DDS:
        """One pair for each key, whose values the function joins."""
        return self.combine_by_key(lambda value: value, func, func)

    def group_by_key(self, num_of_parts: int = -1) -> DDS:
        """One pair for each key, with the list of its values."""
        return self.combine_by_key(
            lambda value: [value], lambda values, value: [*values, value], operator.add, num_of_parts
        )

    def join(self, other: DDS, num_of_partitions: int = -1) -> DDS:
        """Pairs of a key that both have and a pair of the values."""
        sides = self.map_values(lambda value: (0, value)).union(other.map_values(lambda value: (1, value)))

        def matched(pair: Any) -> Iterator[Any]:
            for first, second in itertools.product(*([v for side, v in pair[1] if side == which] for which in (0, 1))):
                yield pair[0], (first, second)

        return sides.group_by_key(num_of_partitions).flat_map(matched)

    def sort_by_key(
        self, ascending: bool = True, num_of_parts: int | None = None, key_func: Callable[[Any], Any] = lambda key: key
    ) -> DDS:
        """Pairs in the order of their keys, from the first part to the last. Parts are bounded by a sample of the keys."""
        ready = DDS(self._parts())
        count = num_of_parts or len(ready.partitions)
        sample = sorted(
            ready.map_partitions(lambda pairs: sorted(key_func(pair[0]) for pair in pairs)[:: 1 + 9]).collect()
        )
        bounds = [sample[len(sample) * place // count] for place in range(1, count)] if sample else []

        def place_of(key: Any) -> int:
            place = bisect.bisect_right(bounds, key_func(key))
            return place if ascending else count - 1 - place

        def ordered(pairs: Iterable[Any]) -> Iterable[Any]:
            return sorted(pairs, key=lambda pair: key_func(pair[0]), reverse=not ascending)

        return ready.partition_by(place_of, count).map_partitions(ordered)

    # What the program gets. These wait.

    def num_of_partitions(self) -> int:
        """How many parts there are. Does not wait."""
        return len(self.partitions)

    def collect(self, keep_partitions: bool = False, future_objects: bool = False) -> list[Any]:
        """All items; with `keep_partitions` a list for each part; with `future_objects` what is to become these, without waiting."""
        parts = self._parts()
        if future_objects:
            return list(parts)
        lists = [list(compss_wait_on(part)) for part in parts]
        return lists if keep_partitions else _joined(lists)

    def collect_as_dict(self) -> dict[Any, Any]:
        """Pairs as a dictionary."""
        return dict(self.collect())

    def take(self, num: int) -> list[Any]:
        """The first items."""
        items: list[Any] = []
        for part in self._parts():
            items += itertools.islice(compss_wait_on(part), max(num - len(items), 0))
        return items

    def foreach(self, func: Callable[[Any], Any]) -> None:
        """Calls the function for each item, in tasks."""
        self.map(func).collect()

    def reduce(self, func: Callable[[Any, Any], Any], initial: Any = _NOTHING, arity: int = -1) -> Any:
        """What the function joins the items to; `initial` is taken once. The parts' values are joined `arity` at a time, or all at once."""

        def within(items: Iterable[Any]) -> Iterable[Any]:
            items = list(items)
            return [functools.reduce(func, items)] if items else []

        values = self.map_partitions(within).collect()
        width = len(values) if arity < 2 else arity
        while len(values) > max(width, 1):
            values = compss_wait_on([_fold(func, part, _NOTHING) for part in _split(values, -(-len(values) // width))])
        return compss_wait_on(_fold(func, values, initial))

    def sum(self) -> Any:
        """The sum of the items."""
        return sum(self.map_partitions(lambda items: [sum(items)]).collect())

    def count(self) -> int:
        """How many items there are."""
        return sum(self.map_partitions(lambda items: [sum(1 for _ in items)]).collect())

    def count_by_value(self, arity: int = 2, as_dict: bool = True, as_fo: bool = False) -> Any:
        """How often each item is there: a dictionary, with `as_fo` what is to become it, without waiting; or another DDS of pairs.

        Counts of parts are joined `arity` at a time. With `as_dict=False`, `as_fo` decides nothing.
        """
        counts = self.map_partitions(lambda items: [dict(Counter(items))])._parts()
        while len(counts) > max(arity, 2):
            counts = [_merge(part) for part in _split(counts, -(-len(counts) // max(arity, 2)))]
        total = _sum(counts)
        if as_dict:
            return total if as_fo else compss_wait_on(total)
        count = max(len(self.partitions), 1)
        lists = _task(_pairs, count)(total, count)
        return DDS([lists] if count == 1 else lists)

    def count_by_key(self, as_dict: bool = False) -> Any:
        """How many pairs each key has: another DDS of pairs, or a dictionary."""
        return self.keys().count_by_value(as_dict=as_dict)

    def save_as_text_file(self, path: str) -> None:
        """A file for each part in the folder, with a line for each item."""
        self._save(path, ".txt", True)

    def save_as_pickle(self, path: str) -> None:
        """A file for each part in the folder."""
        self._save(path, ".pickle", False)

    def _save(self, folder: str, ending: str, as_text: bool) -> None:
        os.makedirs(folder, exist_ok=True)
        for number, part in enumerate(self.partitions):
            _save(self._function, part, os.path.join(folder, f"{number:05d}{ending}"), as_text)

    def _parts(self) -> list[Any]:
        """The parts with everything done: as they were loaded, or futures."""
        if self._function is _same:
            return self.partitions
        return [_map(self._function, part) for part in self.partitions]
