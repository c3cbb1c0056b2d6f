#!/usr/bin/env bash
# MPI libraries whose compilers have other names than Debian's: folders of links stand for environment modules, a script for Cray's CC.
set -euo pipefail
source_dir=${DOVETAIL_SOURCE_DIR:?run this through ctest, which sets DOVETAIL_SOURCE_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}
# What every folder of programs needs to be one: the compilers of MPI are programs of the shell and call the compiler.
mkdir "$work/tools"
for tool in bash sh c++ cc g++ gcc as ld ar ranlib cmake make sed expr uname dirname basename; do
    if found=$(type -P "$tool"); then
        ln -s "$(readlink -f "$found")" "$work/tools/$tool"
    fi
done
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(found LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "$source_dir/cmake")
include(DovetailParts)
dovetail_part(MPI AUTO "MPI")
include(DovetailMpi)
dovetail_describe_missing(missing)
if(missing)
  message(FATAL_ERROR "\${missing}")
endif()
foreach(abi IN LISTS DOVETAIL_MPI_ABIS)
  set(prefix "DOVETAIL_MPI_\${abi}")
  message("\${abi} by \${\${prefix}_COMPILER} and \${\${prefix}_RUN}: \${\${prefix}_LIBRARIES}")
  add_library(plugin_\${abi} OBJECT plugin.cpp)
  dovetail_use_mpi_header(plugin_\${abi} \${abi})
  target_compile_definitions(plugin_\${abi} PRIVATE EXPECTS_\${abi})
endforeach()
END
cat >"$work/project/plugin.cpp" <<'END'
#include <mpi.h>
#if defined(EXPECTS_openmpi) != defined(OPEN_MPI)
#error "the header of another library"
#endif
END
# What CMake finds where PATH has these folders and the tools, and nothing else is looked for. Sets `said`. The folder stays, so that CMake asks the compiler once.
configure() {
    local path=$1
    shift
    local folders=(-U "DOVETAIL_MPI_*" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_MAKE_PROGRAM="$work/tools/make" -DCMAKE_CXX_COMPILER="$work/tools/g++")
    said=$(PATH=$path${path:+:}$work/tools cmake -G "Unix Makefiles" -S "$work/project" -B "$work/build" "${folders[@]}" "$@" 2>&1) || [[ ${expects_failure:-} ]] || fail "CMake failed:" "$said"
}
builds() {
    PATH=$work/tools cmake --build "$work/build" >"$work/built" 2>&1 || fail "What was found does not compile:" "$said" "$(cat "$work/built")"
}

configure ""
[[ $said == *"DOVETAIL_MPI is off"*DOVETAIL_MPI_openmpi_COMPILER* ]] || fail "CMake does not say how to name a compiler:" "$said"

abis=()
for abi in mpich openmpi; do
    compiler=$(type -P "mpicxx.$abi") || continue
    starter=$(type -P "mpiexec.$abi") || continue
    abis+=("$abi")
    module=$work/module_$abi/bin
    mkdir -p "$module"
    ln -s "$compiler" "$module/mpicxx"
    ln -s "$starter" "$module/mpiexec"
    configure "$module"
    [[ $said == *"$abi by $module/mpicxx and $module/mpiexec: "*/libmpi*.so* ]] || fail "The module of $abi was not found:" "$said"
    builds

    # By hand, where PATH has none.
    configure "" "-DDOVETAIL_MPI_${abi}_COMPILER=$module/mpicxx" "-DDOVETAIL_MPI_${abi}_RUN=$module/mpiexec"
    [[ $said == *"$abi by $module/mpicxx and $module/mpiexec: "* ]] || fail "The named compiler of $abi was not taken:" "$said"
    other=$([[ $abi == mpich ]] && echo openmpi || echo mpich)
    expects_failure=yes configure "" "-DDOVETAIL_MPI_${other}_COMPILER=$module/mpicxx"
    [[ $said == *"$module/mpicxx has no mpi.h of $other"* ]] || fail "CMake does not say which compiler is wrong:" "$said"

    # A compiler without a starter is told of.
    mkdir -p "$work/alone_$abi"
    ln -s "$compiler" "$work/alone_$abi/mpicxx"
    configure "$work/alone_$abi"
    [[ $said == *"DOVETAIL_MPI_${abi}_RUN has to name"* ]] || fail "CMake does not say what is missing:" "$said"
done
[[ ${#abis[@]} -gt 0 ]] || exit 77

# As on Debian: what the usual name stands for does not matter. The other library of a module does.
mkdir "$work/debian"
for abi in "${abis[@]}"; do
    ln -s "$(type -P "mpicxx.$abi")" "$work/debian/mpicxx.$abi"
    ln -s "$(type -P "mpiexec.$abi")" "$work/debian/mpiexec.$abi"
    ln -sf "$(type -P "mpicxx.$abi")" "$work/debian/mpicxx"
done
configure "$work/debian"
for abi in "${abis[@]}"; do
    [[ $said == *"$abi by $work/debian/mpicxx.$abi and $work/debian/mpiexec.$abi: "* ]] || fail "$abi was not found by its own name:" "$said"
done
builds
module=$work/module_${abis[0]}/bin
configure "$module:$work/debian"
for abi in "${abis[@]:1}"; do
    [[ $said == *"$abi by $work/debian/mpicxx.$abi "* ]] || fail "A module hides another library:" "$said"
done
[[ $said == *"${abis[0]} by $module/mpicxx and $module/mpiexec: "* ]] || fail "The module was not taken:" "$said"

# Cray's CC answers other questions, its library's name has that of a compiler, and srun starts ranks.
if [[ ${abis[0]} == mpich ]]; then
    mkdir -p "$work/cray/bin" "$work/cray/lib"
    include=$(mpicxx.mpich -show | tr ' ' '\n' | sed -n 's/^-I//p' | head -n 1)
    cat >"$work/cray/bin/CC" <<END
#!/bin/sh
case "\$1" in
--cray-print-opts=cflags) echo '-I"$include"' ;;
--cray-print-opts=libs) echo '-L$work/cray/lib -lmpi_gtl_cuda -lmpi_gnu_123 -ldl' ;;
*) exit 1 ;;
esac
END
    printf '#!/bin/sh\n' >"$work/cray/bin/srun"
    chmod +x "$work/cray/bin/CC" "$work/cray/bin/srun"
    touch "$work/cray/lib/libmpi_gnu_123.so" "$work/cray/lib/libmpi_gtl_cuda.so"
    configure "$work/cray/bin"
    [[ $said == *"mpich by $work/cray/bin/CC and $work/cray/bin/srun: $work/cray/lib/libmpi_gnu_123.so"* ]] || fail "Cray's CC was not found:" "$said"
    builds
fi
