"""What runs in a worker process: `python -m dovetail.process_worker DESCRIPTOR`."""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

from . import pickling
from .channel import Channel


def _end_with_program(descriptor: int) -> None:
    """When the program is gone nobody wants the result: even a body that runs for hours ends."""
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always told
    poll.poll()
    os._exit(0)


def _run(functions: dict[int, Any], call: tuple[Any, ...], files: list[int]) -> tuple[bytes, list[Any]]:
    """Answers one call: the message, and the segments that it carries."""
    _, number, constants, constant_payload, changed_payload = call
    started = time.perf_counter()
    changed: dict[str | int, Any] = {}
    parcel = pickling.parcel(writable=True)
    changed_parcel = pickling.parcel(writable=True)
    try:
        function = functions[number]
        if isinstance(function, bytes):
            function = functions[number] = pickle.loads(function)
        args, kwargs = pickling.load(constant_payload, files[:constants], writable=False)
        if changed_payload is not None:
            changed = pickling.load(changed_payload, files[constants:])
            args = list(args)
            for place, value in changed.items():
                if isinstance(place, int):
                    args[place] = value
                else:
                    kwargs[place] = value
        value = function(*args, **kwargs)
        plain = pickling.is_plain((value,))
        payload = pickle.dumps(value, -1) if plain else pickling.dump(value, parcel)
        # Arrays are changed where they are; other objects are sent back.
        objects = {place: new for place, new in changed.items() if not hasattr(new, "__array_interface__")}
        changed_back = pickling.dump(objects, changed_parcel) if changed else None
        good = True
    except BaseException as error:
        text = "".join(traceback.format_exception(type(error), error, _own_part(error.__traceback__)))
        parcel = changed_parcel = pickling.parcel()
        payload = _dump_error(error, text)
        changed_back = None
        good = False
    answer = (good, payload, changed_back, (len(parcel.segments),), time.perf_counter() - started)
    return pickle.dumps(answer, -1), parcel.segments + changed_parcel.segments


def _own_part(trace: Any) -> Any:
    """Without the frame of this module, which means nothing to the user."""
    return trace.tb_next if trace is not None and trace.tb_next is not None else trace


def _dump_error(error: BaseException, text: str) -> bytes:
    try:
        payload = pickling.dump((error, text), pickling.parcel())
        pickle.loads(payload)
        return payload
    except Exception:
        # An exception that cannot travel is told by its text.
        return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), text), -1)


def main() -> None:
    descriptor = int(sys.argv[1])
    # An interrupt at the terminal reaches this process too: the program decides what becomes of it. Not ignored, since that would be
    # inherited by the commands that tasks start.
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with_program, args=(descriptor,), daemon=True).start()
    channel = Channel(socket.socket(fileno=descriptor))
    functions: dict[int, Any] = {}
    while (message := channel.receive()) is not None:
        payload, files = message
        call = pickle.loads(payload)
        if call[0] == "function":
            functions[call[1]] = call[2]
            continue
        answer, segments = _run(functions, call, files)
        try:
            channel.send(answer, [segment.descriptor for segment in segments])
        except BrokenPipeError:
            return
        del segments, call


if __name__ == "__main__":
    main()
