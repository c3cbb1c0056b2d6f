#!/usr/bin/env bash
# Installs what is missing for some purposes: packages of the system (packages/apt-<purpose>.txt) and of Python in .venv (packages/python-<purpose>.txt).
#   setup.sh [--yes] [purpose...]   build (always), bench, cluster, demo, docs, lint, mpi, observer, package, scaling, test, wheel
# At a terminal the user is asked before packages of the system are installed (--yes: not asked), and once more before that changes packages that are
# there already. Where nobody can be asked (no terminal, or CI=true), they are installed, and others get new versions if they must; none is removed. For `test` Open MPI 5 is put into .venv/ulfm (packages/python-ulfm.txt).
# In the names of packages, `@python3@` is the version of the system's Python, such as 3.11, and `@bpftool@` the package that has this program.
# When everything is there this needs no network, no root and almost no time.
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
    done <"packages/apt-$1.txt"
}

# agree QUESTION DEFAULT: whether the user at the terminal says yes. Where nobody can be asked, it is a yes.
agree() {
    local answer choice='[y/N]'
    [[ $2 == yes ]] && choice='[Y/n]'
    [[ -t 0 && -z ${CI:-} ]] || return 0
    read -r -p "setup: $1 $choice " answer || return 1
    [[ ${answer:-$2} == [yY]* ]]
}

# install_packages PURPOSE...
install_packages() {
    local lists=() purpose missing changed as_root=()
    for purpose in "$@"; do
        [[ ! -e packages/apt-$purpose.txt ]] || lists+=("$purpose")
    done
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: no dpkg here, so the packages of the system are not checked. Make sure that the equivalents of these lists are" \
            "installed: ${lists[*]/#/packages/apt-}" >&2
        return
    fi
    mapfile -t missing < <(for purpose in "${lists[@]}"; do missing_packages "$purpose"; done | sort --unique)
    ((${#missing[@]})) || return 0
    echo "setup: ${#missing[@]} packages of the system are missing for ${lists[*]}: ${missing[*]}"
    [[ -n $yes ]] || agree "install them?" yes ||
        fail "nothing was installed. To do it yourself:" "  apt-get update && apt-get install ${missing[*]}"
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
    # What apt would do to packages that are here: "Inst name [old version] (new version)", "Remv name".
    changed=$(LC_ALL=C apt-get "${options[@]}" install --no-install-recommends --simulate "${missing[@]}" |
        sed -nE 's/^Inst ([^ ]+) \[.*/\1 (new version)/p; s/^Remv ([^ ]+).*/\1 (removed)/p' | sort --unique) ||
        fail "apt-get cannot install the packages (see above)."
    if [[ -n $changed ]]; then
        printf 'setup: this changes packages that are installed:\n%s\n' "$changed"
        if [[ $changed == *"(removed)"* && (! -t 0 || -n ${CI:-}) ]] || ! agree "change them?" no; then
            fail "nothing was installed. If the change is right, run this first:" "  apt-get install ${missing[*]}"
        fi
    fi
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

# install_python PURPOSE: the packages of packages/python-PURPOSE.txt. A stamp keeps the list as it was when last installed.
install_python() {
    local list="packages/python-$1.txt" stamp=".venv/installed-python-$1.txt"
    [[ -e $list ]] || return 0
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

yes=
purposes=(build)
for word in "$@"; do
    if [[ $word == --yes ]]; then
        yes=1
    elif [[ -e packages/apt-$word.txt || -e packages/python-$word.txt ]]; then
        purposes+=("$word")
    else
        fail "'$word' is no purpose: packages/ has neither apt-$word.txt nor python-$word.txt"
    fi
done
install_packages "${purposes[@]}"
install_packages "${purposes[@]}" # those whose names the first ones decide
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    echo "setup: creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
for purpose in "${purposes[@]}"; do
    install_python "$purpose"
    [[ $purpose != test ]] || install_ulfm
done
