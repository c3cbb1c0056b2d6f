#!/usr/bin/env bash
# The library alone, built as somebody does who has its build dependencies and nothing else: plain `cmake`, every part off. Programs find what is installed. It
# compiles the library, so it is skipped unless DOVETAIL_TEST_LONG is set (`make test-install`).
set -euo pipefail
source_dir=${DOVETAIL_SOURCE_DIR:?run this through ctest, which sets DOVETAIL_SOURCE_DIR}
if [[ -z ${DOVETAIL_TEST_LONG:-} ]]; then
    echo "skipped: building takes minutes (make test-install)"
    exit 77
fi
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
parts=()
for part in TESTS EXAMPLES BENCHMARKS PYTHON MPI HDF5 TOOLS OBSERVER; do
    parts+=("-DDOVETAIL_$part=OFF")
done
cmake -S "$source_dir" -B "$bare/build" "${parts[@]}"
cmake --build "$bare/build" --parallel 2
export DOVETAIL_BUILD_DIR=$bare/build
for way in find_package pkg_config; do
    bash "$source_dir/tests/package/${way}_test.sh"
done
cmake --install "$bare/build" --prefix "$bare/installed" >/dev/null
found=$(find "$bare/installed" -name '*mpi*.so*' -o -name '*hdf5*.so*' -o -path '*/bin/*' -o -name '_core*')
if [[ -n $found ]]; then
    printf 'these belong to parts that are off:\n%s\n' "$found" >&2
    exit 1
fi
