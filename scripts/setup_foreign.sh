#!/usr/bin/env bash
# Gets other projects' test suites into .cache-foreign: nothing of it is committed, built into Dovetail or installed.
#   setup_foreign.sh [--sources FOLDER]
# `venv` has the packages of packages/python-foreign.txt; PyTables, pandas and xarray bring their suites in them. `sources` has
# what is on no package index: PyCOMPSs' programs and tutorial and the tests of dislib, netCDF4, mpi4py and ROMIO (MPICH), cloned from their public repositories.
# FOLDER (or DOVETAIL_FOREIGN_SOURCES) has clones of one's own: FOLDER/compss, FOLDER/tutorial_apps, FOLDER/dislib, FOLDER/netcdf4-python,
# FOLDER/mpi4py, FOLDER/mpich.
# The script names what it cannot get and leaves it out; that is no failure, since the tests say so, too. Tests find all this by foreign.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly cache="$PWD/.cache-foreign" list=packages/python-foreign.txt
own=${DOVETAIL_FOREIGN_SOURCES:-}

while (($#)); do
    case $1 in
        --sources)
            own=${2:?"setup-foreign: --sources needs a folder"}
            shift 2
            ;;
        *)
            echo "usage: setup_foreign.sh [--sources FOLDER]" >&2
            exit 2
            ;;
    esac
done

left_out() {
    echo "setup-foreign: $1; its tests are left out" >&2
}

# The interpreter of .venv: Dovetail's extension is built for it.
install_packages() {
    local stamp="$cache/venv/installed.txt"
    cmp --silent "$list" "$stamp" && return
    echo "setup-foreign: installing the packages of $list into .cache-foreign/venv"
    if [[ ! -x $cache/venv/bin/python ]]; then
        .venv/bin/python -m venv --clear "$cache/venv" || return
    fi
    "$cache/venv/bin/python" -m pip install --disable-pip-version-check --quiet --requirement "$list" || return
    cp "$list" "$stamp"
}

# get_source OWNER/NAME COMMIT: the commit that the lists of what to expect were made with, or if it is not there, the newest.
get_source() {
    local name=${1#*/} commit=$2 folder="$cache/sources/${1#*/}" from
    [[ -d $folder/.git ]] && return
    from=${own:+$own/$name}
    from=${from:-https://github.com/$1.git}
    rm -rf "$folder.new"
    if ! GIT_TERMINAL_PROMPT=0 git clone --quiet --no-checkout "$from" "$folder.new"; then
        left_out "$name cannot be cloned from $from"
        return
    fi
    if ! git -C "$folder.new" -c advice.detachedHead=false checkout --quiet "$commit" 2>/dev/null; then
        echo "setup-foreign: $name has no commit $commit, its newest is taken" >&2
        git -C "$folder.new" checkout --quiet HEAD
    fi
    mv "$folder.new" "$folder"
}

mkdir -p "$cache/sources"
install_packages || left_out "the packages of $list cannot be installed"
get_source bsc-wdc/compss 67ee007afcab2162cacf118bb4f3681b948243ba
get_source bsc-wdc/tutorial_apps ef41c568cb4aa12aa11124bc2cd5d84188bcb669
get_source bsc-wdc/dislib 58f35aa5707d75377e09aaba11e2710a49a85a3f
get_source Unidata/netcdf4-python v1.7.4rel
get_source mpi4py/mpi4py 4.1.2
get_source pmodels/mpich v5.0.1rc3
# A module of PyCOMPSs that its build writes. Without it nothing runs with PyCOMPSs' own modules.
bindings="$cache/sources/compss/compss/programming_model/bindings"
if [[ -d $bindings && ! -e $bindings/python/src/pycompss/api/commons/data_type.py ]]; then
    python="$PWD/.venv/bin/python"
    (cd "$bindings" && "$python" generate_datatype_enums.py >/dev/null) ||
        left_out "PyCOMPSs' own modules cannot be completed, and dislib has nothing to be compared with"
fi
