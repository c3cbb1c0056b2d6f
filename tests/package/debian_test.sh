#!/usr/bin/env bash
# The package that CPack makes for Debian: it depends on the libraries that it uses, and programs find what it has. Packing it takes a minute, so it is skipped
# unless DOVETAIL_TEST_LONG is set (`make test-install`).
set -euo pipefail
source_dir=${DOVETAIL_SOURCE_DIR:?run this through ctest, which sets DOVETAIL_SOURCE_DIR}
build_dir=${DOVETAIL_BUILD_DIR:?run this through ctest, which sets DOVETAIL_BUILD_DIR}
if [[ -z ${DOVETAIL_TEST_LONG:-} ]]; then
    echo "skipped: packing takes a minute (make test-install)"
    exit 77
fi
for program in dpkg dpkg-shlibdeps file; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped: there is no $program (make test-install)"
        exit 77
    fi
done
packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT
(cd "$build_dir" && cpack -G DEB -B "$packed/made")
package=$(echo "$packed"/made/*.deb)
depends=$(dpkg --field "$package" Depends)
for library in libc6 libhwloc liburing libxxhash libboost-context libaio; do
    if [[ $depends != *"$library"* ]]; then
        echo "the package depends on '$depends', without $library" >&2
        exit 1
    fi
done
dpkg --extract "$package" "$packed/system"
for file in bin/dovetail-doctor share/doc/dovetail/LICENSE include/dovetail/dovetail.hpp; do
    if [[ ! -s $packed/system/usr/$file ]]; then
        echo "the package has no $file" >&2
        exit 1
    fi
done
export DOVETAIL_TEST_PREFIX=$packed/system/usr
for way in find_package pkg_config; do
    bash "$source_dir/tests/package/${way}_test.sh"
done
