"""The calls of process tasks: what is sent, and what is brought up to date when the answer has come."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

from . import _core, pickling, time_limit
from .channel import Packet
from .process_worker import CALL
from .updating import update
from .used_names import UsedNames

# Calls that take less than this are made for any number of tasks ahead, and sent while a process is still busy.
SMALL = 4096

_numbers = itertools.count(1)


class Job:
    """One call on its way."""

    __slots__ = ("args", "call", "ending", "function", "kwargs", "light", "number", "packet", "written")

    def __init__(self, ending: _core.Ending, call: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.number = next(_numbers)
        self.ending = ending
        self.call = call
        self.args = args
        self.kwargs = kwargs
        self.light = call.is_light(args, kwargs)
        self.function = b""  # as it is when the message is made
        self.packet: Packet | None = None
        self.written: tuple[dict[str | int, Any], pickling.Parcel] | None = None  # what the task changes

    def prepare(self) -> None:
        """Makes the message. It holds memory and descriptors, and is therefore made for few calls ahead."""
        self.function = self.call.pickled()
        if self.light:
            call = pickle.dumps((self.call.number, 0, pickle.dumps((self.args, self.kwargs), -1), None), -1)
            self.packet = Packet(CALL, self.number, call, [])
            return
        payload, files, self.written = self.call.message(self.args, self.kwargs)
        self.packet = Packet(CALL, self.number, payload, [file.descriptor for file in files], files)

    def fail(self, error: BaseException) -> None:
        """Why no result will come. A call that was cancelled before a process got it ends without it."""
        if not self.ending.begin():
            self.drop()
            return
        self._let_go()
        if not self.ending.ended:
            self.ending.fail(error)

    def drop(self) -> None:
        """It was cancelled before a process got it."""
        self._let_go()
        self.ending.drop()

    def _let_go(self) -> None:
        # A failure is kept as long as the program may ask for it, and its traceback keeps this call.
        self.args, self.kwargs, self.packet, self.written = (), {}, None, None


class Function:
    """A function whose calls run in worker processes."""

    def __init__(
        self,
        function: Callable[..., Any],
        label: str,
        priority: int,
        names: tuple[str, ...],
        written: frozenset[str],
        submit: Callable[[Job], None],
        time_limit: float | None = None,
    ) -> None:
        self.function = function
        self.label = label
        self.priority = priority
        self.names = names
        self.written = written
        self.submit = submit
        self.time_limit = time_limit  # seconds
        self.number = next(_numbers)
        self._pickled: tuple[UsedNames, bytes] | None = None

    def pickled(self) -> bytes:
        """The function as bytes: the same ones until it, or something that it uses by name, becomes another object."""
        made = self._pickled
        if made is None or made[0].have_changed():
            used = UsedNames(self.function)  # before: what changes meanwhile is noticed the next time
            made = self._pickled = used, pickling.dump_alone(self._limited())
        return made[1]

    def _limited(self) -> Callable[..., Any]:
        return self.function if self.time_limit is None else time_limit.InWorkerProcess(self.function, self.time_limit)

    def is_light(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the message takes so little that it can be made for any number of calls ahead."""
        if self.written:
            return False
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = type(value)
            if (kind is str or kind is bytes) and len(value) >= SMALL:
                return False
        return pickling.is_plain(args) and (not kwargs or pickling.is_plain(tuple(kwargs.values())))

    def __call__(self, ending: _core.Ending, /, *args: Any, **kwargs: Any) -> None:
        ending.postpone()
        self.submit(Job(ending, self, args, kwargs))

    def message(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bytes, list[Any], tuple[dict[str | int, Any], pickling.Parcel] | None]:
        """The bytes and the files of a call, and what is to be brought up to date when it has ended."""
        changed: dict[str | int, Any] = {}
        constant_args = list(args)
        constant_kwargs = dict(kwargs)
        for place, name in enumerate(self.names[: len(args)]):
            if name in self.written:
                changed[place] = args[place]
                constant_args[place] = None
        for name in kwargs.keys() & self.written:
            changed[name] = kwargs[name]
            constant_kwargs[name] = None
        constant_parcel = pickling.Parcel()
        changed_parcel = pickling.Parcel(every_array=True)
        try:
            constant_payload = pickling.dump((tuple(constant_args), constant_kwargs), constant_parcel)
            changed_payload = pickling.dump(changed, changed_parcel) if changed else None
        except BaseException as error:
            constant_parcel.discard()
            if isinstance(error, OSError | MemoryError) or not isinstance(error, Exception):
                raise
            raise self._unpicklable(args, kwargs, error) from error
        payload = pickle.dumps((self.number, len(constant_parcel.files), constant_payload, changed_payload), -1)
        written = (changed, changed_parcel) if changed else None
        return payload, constant_parcel.files + changed_parcel.files, written

    def _unpicklable(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> TypeError:
        names = [*self.names[: len(args)], *(f"*args[{i}]" for i in range(len(args) - len(self.names))), *kwargs]
        values = [*args, *kwargs.values()]
        name = pickling.failing_argument(names, values, lambda value: pickling.dump(value, pickling.Parcel()))
        where = "an argument" if name is None else f"argument '{name}' (a '{type(values[names.index(name)]).__name__}')"
        return TypeError(f"{where} of task '{self.label}' cannot be sent to a worker process: {error}")

    def write_back(
        self, originals: dict[str | int, Any], parcel: pickling.Parcel, payload: bytes, files: list[int]
    ) -> None:
        """Brings what the task changed into the objects of this process."""
        new = pickling.load(payload, files)
        for array, place, offset in parcel.arrays:
            parcel.files[place].read_into(array, offset)
        for place, original in originals.items():
            if place in new:
                name = self.names[place] if isinstance(place, int) else place
                if update(original, new[place]) is not original:
                    raise TypeError(
                        f"argument '{name}' of task '{self.label}' was changed in a worker process, and an object of type "
                        f"'{type(original).__name__}' cannot be brought up to date in place; return it instead"
                    )
