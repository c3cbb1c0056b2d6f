#!/usr/bin/env bash
# Where a dependency is missing, CMake says so in one sentence with the name of the package, all at once; what is not needed for the library is left out
# unless it was asked for.
set -euo pipefail
source_dir=${DOVETAIL_SOURCE_DIR:?run this through ctest, which sets DOVETAIL_SOURCE_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}
unset PKG_CONFIG_PATH
export PKG_CONFIG_LIBDIR=$work/none
absent=(-DDOVETAIL_LIBAIO=OFF -DDOVETAIL_TOMLPLUSPLUS_INCLUDE=OFF)
for package in Boost nlohmann_json CLI11 GTest nanobind; do
    absent+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
if said=$(cmake -S "$source_dir" -B "$work/build" "${absent[@]}" -DDOVETAIL_TOOLS=ON -DDOVETAIL_PYTHON=AUTO -DDOVETAIL_MPI=OFF 2>&1); then
    fail "CMake configured without any dependency:" "$said"
fi
for package in libaio-dev libboost-context-dev libcli11-dev libhwloc-dev libtomlplusplus-dev liburing-dev libxxhash-dev nlohmann-json3-dev; do
    [[ $said == *"(Debian and Ubuntu: $package)"* ]] || fail "CMake does not name the package $package:" "$said"
    grep -qx "$package" "$source_dir/packages/apt-build.txt" || fail "packages/apt-build.txt does not list $package"
done
[[ $said != *"Call Stack"* ]] || fail "CMake shows how its files call each other:" "$said"
[[ $(grep -c "^CMake Error" <<<"$said") == 1 ]] || fail "CMake says more than one error:" "$said"
# Only what was asked for is an error.
[[ $said == *"DOVETAIL_PYTHON is off"*nanobind* && $said != *"for DOVETAIL_PYTHON=ON"* ]] || fail "Python was not left out:" "$said"
[[ $said == *"for DOVETAIL_TOOLS=ON"* ]] || fail "The tools were asked for:" "$said"

if said=$(cmake -S "$source_dir" -B "$work/build" -DDOVETAIL_HDF5=perhaps 2>&1); then
    fail "CMake took DOVETAIL_HDF5=perhaps"
fi
[[ $said == *"DOVETAIL_HDF5 that is AUTO, ON or OFF"* ]] || fail "CMake does not say what DOVETAIL_HDF5 may be:" "$said"
