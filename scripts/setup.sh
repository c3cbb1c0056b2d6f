#!/usr/bin/env bash
# Installs what is missing to build, test and run: packages of the system (packages/apt.txt), a Python environment in .venv
# (packages/python.txt), and Open MPI 5 in .venv/ulfm (packages/python-ulfm.txt). In the names of packages, `@python3@` is the version of the
# system's Python, such as 3.11, and `@bpftool@` the package that has this program. With `lint` it also installs packages/python-lint.txt, with
# `scaling` packages/apt-scaling.txt, with `wheel` packages/apt-wheel.txt and packages/python-wheel.txt. When everything is there it needs no network, no root and almost no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 2
}

# missing_packages LIST: those of packages/LIST.txt that are not installed.
missing_packages() {
    local package version bpftool=bpftool
    grep --quiet --no-messages '^ID=ubuntu$' /etc/os-release && bpftool=linux-tools-generic
    # Before there is one, its packages cannot be named; they are missing afterwards.
    version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || version=
    while read -r package; do
        [[ -z $package || $package == \#* ]] && continue
        [[ $package == *@python3@* && -z $version ]] && continue
        package=${package//@python3@/$version}
        package=${package//@bpftool@/$bpftool}
        [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            printf '%s\n' "$package"
    done <"packages/$1.txt"
}

# install_packages LIST
install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: no dpkg here, so the packages of the system are not checked." \
            "Make sure that the equivalents of packages/apt.txt are installed." >&2
        return
    fi
    local missing as_root=()
    mapfile -t missing < <(missing_packages "$1")
    ((${#missing[@]})) || return 0
    echo "setup: installing ${#missing[@]} packages: ${missing[*]}"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "not root, and there is no sudo. Ask an administrator to run:" \
            "  apt-get update && apt-get install ${missing[*]}"
        # Without a terminal a password can't be asked for: say so rather than wait.
        if [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
            fail "sudo wants a password and there is no terminal to ask for it. Run this first:" \
                "  sudo apt-get update && sudo apt-get install ${missing[*]}"
        fi
        as_root=(sudo)
    fi
    local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -y)
    "${as_root[@]}" apt-get "${options[@]}" update ||
        fail "apt-get update failed (see above). Is there a network?"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install --no-install-recommends \
        "${missing[@]}" || fail "apt-get could not install the packages (see above)."
}

find_python() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer with its venv module is needed; 'python3' is $(python3 --version 2>&1 || true)."
}

# install_python LIST: the packages of packages/LIST.txt. A stamp keeps the list as it was when last installed.
install_python() {
    local list="packages/$1.txt" stamp=".venv/installed-$1.txt"
    cmp --silent "$list" "$stamp" && return
    echo "setup: installing Python packages of $list into .venv"
    .venv/bin/python -m pip install --disable-pip-version-check --quiet --requirement "$list" ||
        fail "pip could not install $list (see above). Is there a network?"
    cp "$list" "$stamp"
}

# An MPI library that tells of ranks which have died, for one test: in a folder of its own, so that nothing else finds it. That test is skipped
# where there is no such package.
install_ulfm() {
    local list=packages/python-ulfm.txt stamp=.venv/installed-python-ulfm.txt
    cmp --silent "$list" "$stamp" && return
    echo "setup: installing Python packages of $list into .venv/ulfm"
    if .venv/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --prefix .venv/ulfm --requirement "$list"; then
        cp "$list" "$stamp"
    else
        echo "setup: pip could not install $list (see above), so the test interpose_mpi_told is skipped" >&2
    fi
}

install_packages apt
install_packages apt # those whose names the first ones decide
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    echo "setup: creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
install_python python
install_ulfm
if [[ ${1:-} == lint ]]; then
    install_python python-lint
elif [[ ${1:-} == scaling ]]; then
    install_packages apt-scaling
elif [[ ${1:-} == wheel ]]; then
    install_packages apt-wheel
    install_python python-wheel
fi
