"""Every benchmark that bench/run.py knows. To add one, write its programs and a row in the file of its room; nothing else lists them."""

from catalogue import admission, comm, hdf5, posix, prefetch, python, staging, storage, tasking, tiom, trace

BENCHMARKS = [
    *tasking.BENCHMARKS,
    *storage.BENCHMARKS,
    *posix.BENCHMARKS,
    *prefetch.BENCHMARKS,
    *staging.BENCHMARKS,
    *python.BENCHMARKS,
    *admission.BENCHMARKS,
    *tiom.BENCHMARKS,
    *trace.BENCHMARKS,
    *hdf5.BENCHMARKS,
    *comm.BENCHMARKS,
]
