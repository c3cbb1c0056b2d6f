#!/usr/bin/env bash
# A compiler elsewhere finds the installed library with pkg-config.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export PKG_CONFIG_PATH=$library_dir/pkgconfig
read -ra flags < <(pkg-config --cflags --libs dovetail)
expected=$(sed -n 's/^project(dovetail VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
if [[ $(pkg-config --modversion dovetail) != "$expected" ]]; then
    echo "dovetail.pc says version $(pkg-config --modversion dovetail), CMakeLists.txt says $expected" >&2
    exit 1
fi
"${CXX:-g++}" -std=c++20 -Wall -Wextra -Werror "$source_dir/tests/package/consumer.cpp" "${flags[@]}" -o "$work/cpp"
"${CC:-gcc}" -std=c11 -Wall -Wextra -Werror "$source_dir/tests/package/consumer.c" "${flags[@]}" -o "$work/c"
LD_LIBRARY_PATH=$library_dir "$work/cpp"
LD_LIBRARY_PATH=$library_dir "$work/c"

read -ra flags < <(pkg-config --cflags --libs dovetail-posix)
"${CXX:-g++}" -std=c++20 -Wall -Wextra -Werror -Wl,--as-needed "$source_dir/tests/package/consumer_posix.cpp" "${flags[@]}" -o "$work/posix"
LD_LIBRARY_PATH=$library_dir "$work/posix"
