"""HDF5 with and without the connector."""

from harness.entry import Benchmark, Contender, Target

# Each launch measures native HDF5 and Dovetail in turn: a round is one pair, so that no peer is needed.
PAIR, SLOW, EVEN, LONG = ("--repeat", "1"), ("--device", "60"), ("--compute", "even"), ("--compute", "long")


def hdf5(way: str, name: str, title: str, target: Target, unit: str, *arguments: str) -> Benchmark:
    return Benchmark(
        f"hdf5_{name}_{way}",
        f"HDF5, {way}: {title}",
        (Contender("dovetail", f"hdf5_{way}", (*arguments, *PAIR)),),
        (target,),
        metric=target.metric,
        unit=unit,
        quick=("--steps", "4"),
    )


def hdf5_hidden(way: str, kernel: str, least: float | None, *arguments: str) -> Benchmark:
    title = f"{kernel} a time series of 8 variables, I/O as long as the computation, percent hidden"
    target = Target(f"{least or 0:.0f} %", metric="efficiency", at_least=least or 0)
    name = f"hidden_{kernel}{''.join(arguments).replace('--', '_')}"
    return hdf5(way, name, title, target, "%", "--kernel", kernel, *SLOW, *EVEN, *arguments)


def hdf5_io(way: str, kernel: str, *arguments: str) -> Benchmark:
    title = f"{kernel} a time series, computation twice as long, native I/O time of the program / Dovetail's"
    target = Target("5 times", metric="io_ratio", at_least=5)
    name = f"io_{kernel}{''.join(arguments).replace('--', '_')}"
    return hdf5(way, name, title, target, "x", "--kernel", kernel, *SLOW, *LONG, *arguments)


def hdf5_cost(kernel: str, title: str, most: float, *arguments: str) -> Benchmark:
    target = Target(f"{most:g} times native", metric="slowdown", at_most=most)
    return hdf5(
        "transparent",
        f"cost_{kernel}",
        f"{title}, no computation, T / T_native",
        target,
        "x",
        "--kernel",
        kernel,
        *arguments,
    )


BENCHMARKS = [
    hdf5_hidden("transparent", "write", 85),
    hdf5_hidden("transparent", "write", 85, "--processes", "2"),
    hdf5_hidden("explicit", "write", 95),
    hdf5_hidden("h5py", "write", 80),
    hdf5_hidden("transparent", "write", None, "--deflate", "4"),
    hdf5_hidden("h5py", "write", None, "--deflate", "4"),
    hdf5_hidden("transparent", "read", None),
    hdf5_io("transparent", "write"),
    hdf5_io("transparent", "write", "--flush"),
    hdf5_io("transparent", "read"),
    hdf5_io("h5py", "read"),
    hdf5_cost("metadata_write", "2 000 small datasets with attributes written", 1.5, "--steps", "2000"),
    hdf5_cost("metadata_read", "2 000 small datasets with attributes read", 1.5, "--steps", "2000"),
    hdf5_cost("mixed", "large and small datasets in turn", 1.5, "--steps", "20"),
    hdf5_cost("files_write", "100 files of one small dataset created, written and closed", 1.2, "--steps", "100"),
    hdf5_cost("write", "256 MiB written", 1.05, "--steps", "16", "--particles", "524288"),
    hdf5_cost("read", "256 MiB read", 1.05, "--steps", "16", "--particles", "524288"),
]
