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

from . import _core, pickling
from .channel import Channel, Message, Packet
from .imported import imported

FUNCTION, CALL, ANSWER = range(3)
# The receiver keeps and drops this many arrays of one result independently. Further ones share a file, and with it their memory.
_APART = 16


def _end_with_program(descriptor: int) -> None:
    """When the program has gone, the result has no receiver: even a body that runs for hours ends."""
    poll = select.poll()
    poll.register(descriptor, 0)  # poll always reports errors and hang-ups
    poll.poll()
    os._exit(0)


def _is_changed_in_place(value: Any) -> bool:
    """Whether it lies where the program reads it, as `pickling` decides."""
    numpy = imported("numpy")
    return numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject


def _run(functions: dict[int, Any], message: Message) -> Packet:
    """Answers one call."""
    started = time.perf_counter()
    changed: dict[str | int, Any] = {}
    parcel = pickling.Parcel(apart=_APART, again=False)
    changed_parcel = pickling.Parcel(again=False)
    try:
        number, constants, constant_payload, changed_payload = pickle.loads(message.payload())
        function = functions[number]
        if isinstance(function, bytes):
            function = functions[number] = pickle.loads(function)
        constant_files, message.files[:constants] = message.files[:constants], []
        try:
            args, kwargs = pickling.load(constant_payload, constant_files)
        finally:
            message.files += constant_files
        if changed_payload is not None:
            changed = pickling.load(changed_payload, message.files, shared=True)
            args = list(args)
            for place, value in changed.items():
                if isinstance(place, int):
                    args[place] = value
                else:
                    kwargs[place] = value
        value = function(*args, **kwargs)
        plain = pickling.is_plain((value,))
        payload = pickle.dumps(value, -1) if plain else pickling.dump(value, parcel)
        objects = {place: new for place, new in changed.items() if not _is_changed_in_place(new)}
        changed_back = pickling.dump(objects, changed_parcel) if changed else None
        good = True
    except BaseException as error:
        text = "".join(traceback.format_exception(type(error), error, own_part(error.__traceback__)))
        parcel = changed_parcel = pickling.Parcel()
        payload = dump_error(error, text)
        changed_back = None
        good = False
    answer = (good, payload, changed_back, len(parcel.files), time.perf_counter() - started)
    files = parcel.files + changed_parcel.files
    return Packet(ANSWER, message.number, pickle.dumps(answer, -1), [file.descriptor for file in files], files)


def own_part(trace: Any) -> Any:
    """Without the frame that calls the body, which means nothing to the user."""
    return trace.tb_next if trace is not None and trace.tb_next is not None else trace


def dump_error(error: BaseException, text: str) -> bytes:
    """An exception and its traceback as bytes for `pickle.loads`."""
    try:
        payload = pickling.dump((error, text), parcel := pickling.Parcel())
        if not parcel.files:
            pickle.loads(payload)
            return payload
    except Exception:
        pass
    # Of an exception that cannot be sent, the text is sent.
    return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), text), -1)


def _failure(number: int, error: Exception) -> Packet:
    payload = dump_error(error, "".join(traceback.format_exception(error)))
    return Packet(ANSWER, number, pickle.dumps((False, payload, None, 0, 0.0), -1), [])


def _answer(functions: dict[int, Any], message: Message) -> Packet:
    try:
        return _run(functions, message)
    except Exception as error:
        # No memory or no descriptor is left for a result that is there.
        return _failure(message.number, error)
    finally:
        message.close()


def main() -> None:
    descriptor = int(sys.argv[1])
    # An interrupt at the terminal reaches this process too: the program decides what becomes of it. Not ignored, since that would be
    # inherited by the commands that tasks start.
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with_program, args=(descriptor,), daemon=True).start()
    _core.set_worker_process()
    channel = Channel(socket.socket(fileno=descriptor))
    functions: dict[int, Any] = {}
    while (message := channel.receive(wait=True)) is not None:
        if message.kind == FUNCTION:
            functions[message.number] = message.payload()
            message.close()
            continue
        answer = _answer(functions, message)
        try:
            channel.send(answer, wait=True)
        except BrokenPipeError:
            return
        except OSError as error:
            channel.send(_failure(message.number, error), wait=True)
        del answer


if __name__ == "__main__":
    main()
