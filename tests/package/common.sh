# Shared by the tests of this folder: installs the build into a folder of its own, or copies what DOVETAIL_TEST_PREFIX has, and sets prefix, library_dir
# and work.
set -euo pipefail
source_dir=${DOVETAIL_SOURCE_DIR:?run this through ctest, which sets DOVETAIL_SOURCE_DIR}
build_dir=${DOVETAIL_BUILD_DIR:?run this through ctest, which sets DOVETAIL_BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -n ${DOVETAIL_TEST_PREFIX:-} ]]; then
    cp -a "$DOVETAIL_TEST_PREFIX" "$work/first"
else
    cmake --install "$build_dir" --prefix "$work/first" >/dev/null
fi
# An installed tree may be moved: nothing in it may remember where it was put first.
mv "$work/first" "$work/installed"
prefix=$work/installed
library_dir=$(dirname "$(find "$prefix" -name libdovetail.so)")
if grep -rIl -e "$source_dir" -e "$work/first" "$prefix"; then
    echo "the installed files above name a folder of the machine that built them" >&2
    exit 1
fi
