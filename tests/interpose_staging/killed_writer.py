"""A program that is killed: it changes the file that its first argument names, by the seed that is its second, and prints the number of each change after it. After as many
as its third argument says it kills itself."""

import os
import random
import signal
import sys


def change(numbers: random.Random) -> tuple:
    kind = numbers.randrange(40)
    if kind == 0:
        return "truncate", numbers.randrange(200_000), 0
    if kind in (1, 2):
        return ("fsync", "reopen")[kind - 1], 0, 0
    return "write", numbers.randrange(150_000), numbers.randrange(1, 9000)


def content_after(seed: int, changes: int) -> bytes:
    """What the file has when so many are made."""
    numbers = random.Random(seed)
    content = bytearray()
    for number in range(1, changes + 1):
        kind, offset, length = change(numbers)
        end = offset + length if kind == "write" else offset
        if kind in ("write", "truncate") and end > len(content):
            content += bytes(end - len(content))
        if kind == "write":
            content[offset:end] = bytes([number % 256]) * length
        elif kind == "truncate":
            del content[offset:]
    return bytes(content)


def opened(path: str) -> int:
    """An opening fails where what was left of the file cannot be brought into it, and finds it the next time."""
    for _ in range(100):
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            pass
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def main() -> None:
    path, seed = sys.argv[1], int(sys.argv[2])
    until = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    numbers = random.Random(seed)
    file = opened(path)
    number = 0
    while number != until or until == 0:
        number += 1
        kind, offset, length = change(numbers)
        failed = b""
        try:
            if kind == "write":
                os.pwrite(file, bytes([number % 256]) * length, offset)
            elif kind == "truncate":
                os.ftruncate(file, offset)
            elif kind == "fsync":
                os.fsync(file)
            else:
                os.close(file)
        except OSError:
            failed = b" failed"
        if kind == "reopen":
            try:
                file = opened(path)
            except OSError:
                if until == 0:
                    raise
                break  # calls fail so often that it never can be
        os.write(1, b"%d%s\n" % (number, failed))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
