#!/usr/bin/env bash
# Gets an HDF5 of 1.14.5 or newer into .cache-hdf5, to build and test Dovetail's connector where the distribution's own is older. It installs
# nothing into the system.
#   setup_hdf5.sh headers   its headers, out of the distribution's package: seconds, enough to build the connector
#   setup_hdf5.sh try       the same, but a failure is no error and is not repeated
#   setup_hdf5.sh all       also a thread-safe library with HDF5's own tests and tools, built from the source package
# apt gets both from a newer suite of this distribution, with a list of sources that is derived from the machine's own and kept apart from it.
# apt verifies the suite's signature with the distribution's keyring, and every file with it. A suite that cannot be verified is not used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly oldest=1.14.5 cache="$PWD/.cache-hdf5" stage=${1:-all}
readonly log="$cache/setup.log" work="$cache/work"

fail() {
    printf 'setup-hdf5: %s\n' "$@" >&2
    exit 2
}

system() {
    # shellcheck disable=SC1091
    (. /etc/os-release && printf '%s' "${!1:-}")
}

# Suites to look into, the one tried most first.
suites() {
    case $(system ID) in
        debian) echo trixie forky sid ;;
        ubuntu) echo questing plucky resolute ;;
        *) fail "newer suites are known of Debian and Ubuntu only. Install HDF5 $oldest or newer, and configure with" \
            "  -DDOVETAIL_HDF5_INCLUDE=<the folder of its H5public.h>." ;;
    esac
}

apt_options=(
    -o "Dir::Etc::SourceList=$work/newer.sources" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/lists"
    -o "Dir::Cache=$work" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
)

# use_suite SUITE TYPE: makes apt know that suite's binary packages (deb) or source packages (deb-src), and no other's.
use_suite() {
    local suite=$1 type=$2 archive components=main keyring
    archive=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Release: $(system VERSION_CODENAME)" \
        "Component: main" | head -n 1)
    [[ -n $archive ]] || fail "apt's list of sources has no archive of $(system PRETTY_NAME)"
    [[ $(system ID) == ubuntu ]] && components="main universe"
    keyring=/usr/share/keyrings/$(system ID)-archive-keyring.gpg
    rm -rf "$work/lists"
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    {
        printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: %s\n' "$type" "$archive" "$suite" "$components"
        [[ ! -e $keyring ]] || printf 'Signed-By: %s\n' "$keyring"
    } >"$work/newer.sources"
    # Without Acquire::AllowInsecureRepositories, which is apt's default, an unverified suite is an error.
    apt-get "${apt_options[@]}" update >>"$log" 2>&1
}

recent() {
    dpkg --compare-versions "$1" ge "$oldest"
}

# find_suite TYPE: leaves apt with the first suite whose HDF5 is new enough; its version is in `version`.
find_suite() {
    local suite type=$1
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "no apt here. Install HDF5 $oldest or newer, and" \
        "  configure with -DDOVETAIL_HDF5_INCLUDE=<the folder of its H5public.h>."
    for suite in $(suites); do
        use_suite "$suite" "$type" || continue
        if [[ $type == deb ]]; then
            version=$(apt-cache "${apt_options[@]}" madison libhdf5-dev | awk -F ' *[|] *' 'NR == 1 { print $2 }')
        else
            version=$(apt-cache "${apt_options[@]}" showsrc hdf5 | awk '/^Version:/ { print $2; exit }')
        fi
        [[ -n $version ]] && recent "$version" && return
    done
    fail "no suite with HDF5 $oldest or newer could be used ($(suites)); what apt said is in $log"
}

system_has_headers() {
    local version
    version=$(awk '/^#define H5_VERS_(MAJOR|MINOR|RELEASE) / { printf "%s%s", dot, $3; dot = "." }' \
        /usr/include/hdf5/serial/H5public.h 2>/dev/null) && recent "$version"
}

get_headers() {
    if [[ -e $cache/headers/H5public.h ]] || system_has_headers; then
        return
    fi
    local start=$SECONDS version
    : >"$log"
    find_suite deb
    (cd "$work" && rm -f libhdf5-dev_*.deb && apt-get "${apt_options[@]}" download libhdf5-dev >>"$log" 2>&1) ||
        fail "apt could not fetch libhdf5-dev $version; what it said is in $log"
    rm -rf "$work/package" "$cache/headers"
    dpkg-deb --extract "$work"/libhdf5-dev_*.deb "$work/package"
    # Last and at once: the folder is there only when it is whole.
    mv "$work/package/usr/include/hdf5/serial" "$cache/headers"
    rm -rf "$work"
    echo "setup-hdf5: headers of HDF5 $version in ${cache#"$PWD"/}/headers ($((SECONDS - start)) s)"
}

# Its own tests and tools beside the library. No hl: it is no part of what is tested, and not thread-safe.
build_library() {
    # tests/hdf5/own_programs.py runs these.
    local tests=(h5_api_test testhdf5 chunk_info cmpd_dset direct_chunk dsets extend external file_image fillval links mdset mount
        objcopy select_io_dset set_extent vds)
    # Each of them: a folder from before one was added here is built anew.
    local program missing=
    for program in "${tests[@]}"; do
        [[ -x $cache/threadsafe/bin/$program ]] || missing=$program
    done
    [[ $missing ]] || return 0
    local start=$SECONDS version jobs
    jobs=$(nproc)
    : >"$log"
    find_suite deb-src
    echo "setup-hdf5: building a thread-safe HDF5 $version with its tests (some minutes; $log)"
    (cd "$work" && apt-get "${apt_options[@]}" source --download-only hdf5 >>"$log" 2>&1) ||
        fail "apt could not fetch the source package of HDF5 $version; what it said is in $log"
    mkdir "$work/source"
    tar --extract --file "$(echo "$work"/hdf5_*.orig.tar.*)" --directory "$work/source" --strip-components=1 \
        --exclude=HDF5Examples --exclude=doxygen --exclude='*/release_docs'
    # The programs find the library beside themselves, wherever the folder is moved to.
    {
        cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON \
            -DCMAKE_INSTALL_PREFIX="$work/installed" -DBUILD_STATIC_LIBS=OFF -DBUILD_SHARED_LIBS=ON \
            -DHDF5_ENABLE_THREADSAFE=ON -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_TOOLS=ON \
            -DHDF5_TEST_API=ON -DHDF5_TEST_API_ENABLE_ASYNC=ON -DHDF5_ENABLE_Z_LIB_SUPPORT=ON &&
            cmake --build "$work/build" --parallel "$jobs" --target "${tests[@]}" h5diff h5dump h5repack &&
            cmake --install "$work/build" --component headers
    } >>"$log" 2>&1 || fail "HDF5 $version could not be built; the end of $log says why"
    mv "$work/build/bin" "$work/source/test/testfiles" "$work/installed/"
    rm -rf "$cache/threadsafe"
    mv "$work/installed" "$cache/threadsafe"
    rm -rf "$work"
    echo "setup-hdf5: thread-safe HDF5 $version in ${cache#"$PWD"/}/threadsafe ($((SECONDS - start)) s)"
}

mkdir -p "$cache"
case $stage in
    headers)
        get_headers
        ;;
    try)
        if [[ ! -e $cache/without ]] && ! (get_headers); then
            echo "setup-hdf5: Dovetail's HDF5 connector is left out; \`make setup-hdf5\` tries again" >&2
            touch "$cache/without"
        fi
        ;;
    all)
        get_headers
        build_library
        rm -f "$cache/without"
        ;;
    *) fail "usage: setup_hdf5.sh headers|try|all" ;;
esac
