# What Dovetail stands on, with the names of packages in packages/apt-build.txt; `make setup` installs what is missing.

# dovetail_requires(found what package)
macro(dovetail_requires found what package)
  if(NOT ${found})
    dovetail_missing("${what}" "${package}")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.74 QUIET COMPONENTS context)
dovetail_requires(Boost_FOUND "Boost.Context 1.74 or newer" libboost-context-dev)
find_package(PkgConfig QUIET)
dovetail_requires(PKG_CONFIG_FOUND "pkg-config" pkg-config)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(liburing QUIET IMPORTED_TARGET liburing>=2.3)
  dovetail_requires(liburing_FOUND "liburing 2.3 or newer" liburing-dev)
  pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc>=2.5)
  dovetail_requires(hwloc_FOUND "hwloc 2.5 or newer" libhwloc-dev)
  # The first version in which what XXH3 computes does not change any more.
  pkg_check_modules(libxxhash QUIET IMPORTED_TARGET libxxhash>=0.8)
  dovetail_requires(libxxhash_FOUND "xxHash 0.8 or newer" libxxhash-dev)
endif()
find_package(nlohmann_json 3.9 QUIET)
dovetail_requires(nlohmann_json_FOUND "JSON for Modern C++ 3.9 or newer" nlohmann-json3-dev)
# libaio brings neither a CMake package nor a pkg-config file.
find_library(DOVETAIL_LIBAIO aio)
find_path(DOVETAIL_LIBAIO_INCLUDE libaio.h)
if(NOT DOVETAIL_LIBAIO OR NOT DOVETAIL_LIBAIO_INCLUDE)
  dovetail_missing("libaio" libaio-dev)
endif()
# Headers only; not every distribution's package can be found otherwise.
find_path(DOVETAIL_TOMLPLUSPLUS_INCLUDE toml++/toml.h)
dovetail_requires(DOVETAIL_TOMLPLUSPLUS_INCLUDE "toml++" libtomlplusplus-dev)
mark_as_advanced(DOVETAIL_LIBAIO DOVETAIL_LIBAIO_INCLUDE DOVETAIL_TOMLPLUSPLUS_INCLUDE)

# The tools, the benchmarks and the tests of both read their options with it.
find_package(CLI11 2.1 QUIET)
if(NOT CLI11_FOUND)
  foreach(part IN ITEMS TOOLS BENCHMARKS)
    dovetail_part_lacks(${part} "CLI11 2.1 or newer" libcli11-dev)
  endforeach()
endif()
if(DOVETAIL_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    dovetail_part_lacks(TESTS "GoogleTest" libgtest-dev)
  elseif(NOT DOVETAIL_TOOLS)
    dovetail_part_lacks(TESTS "DOVETAIL_TOOLS, which they test")
  endif()
endif()

# Private to the library: nothing of these shows in a public header.
add_library(dovetail_dependencies INTERFACE)
target_link_libraries(dovetail_dependencies INTERFACE
  PkgConfig::liburing PkgConfig::hwloc PkgConfig::libxxhash Boost::context Threads::Threads nlohmann_json::nlohmann_json "${DOVETAIL_LIBAIO}")
