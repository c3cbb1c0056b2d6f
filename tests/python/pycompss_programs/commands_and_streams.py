"""Names of tasks that are programs, and of streams, with what each promises."""

import sys

from pycompss.api.api import compss_snapshot, compss_wait_on, compss_wait_on_file
from pycompss.api.binary import binary
from pycompss.api.parameter import (
    FILE_IN,
    FILE_IN_STDIN,
    FILE_OUT_STDERR,
    FILE_OUT_STDOUT,
    STREAM_IN,
    STREAM_OUT,
    Prefix,
    Type,
)
from pycompss.api.task import task
from pycompss.streams.distro_stream import ObjectDistroStream

COUNT = 5


@binary(binary="sh", args="-c 'tr a-z A-Z; echo told >&2'")
@task(source=FILE_IN_STDIN, result=FILE_OUT_STDOUT, told=FILE_OUT_STDERR)
def shout(source, result, told):
    pass


@binary(binary="echo")
@task(path={Type: FILE_IN, Prefix: "--file="}, result=FILE_OUT_STDOUT)
def name(path, result):
    pass


@task(stream=STREAM_OUT)
def produce(stream):
    for number in range(COUNT):
        stream.publish(number)
    stream.close()


@task(stream=STREAM_IN, returns=1)
def consume(stream):
    found = []
    while not stream.is_closed():
        found += stream.poll()
    return sorted(found)


def content(path):
    with open(compss_wait_on_file(path)) as file:
        return file.read().strip()


def main():
    folder = sys.argv[1]
    words, upper, told, line = (f"{folder}/{each}" for each in ("words", "upper", "told", "line"))
    with open(words, "w") as file:
        file.write("text")
    shout(words, upper, told)
    print("FILE_OUT_STDOUT", content(upper))
    print("FILE_OUT_STDERR", content(told))
    name(words, line)
    print("Prefix", content(line) == f"--file={words}")
    stream = ObjectDistroStream()
    produce(stream)
    print("STREAM_IN", compss_wait_on(consume(stream)))
    print("compss_snapshot", compss_snapshot())


if __name__ == "__main__":
    main()
