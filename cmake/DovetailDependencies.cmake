# What Dovetail stands on. Package names for apt are in packages/apt.txt; `make setup` installs what is missing.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing>=2.3)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc>=2.5)
# The first version in which what XXH3 computes does not change any more.
pkg_check_modules(libxxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
find_package(nlohmann_json 3.9 REQUIRED)
# libaio brings neither a CMake package nor a pkg-config file.
find_library(DOVETAIL_LIBAIO aio REQUIRED)
find_path(DOVETAIL_LIBAIO_INCLUDE libaio.h REQUIRED)
# Headers only; not every distribution's package can be found otherwise.
find_path(DOVETAIL_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
mark_as_advanced(DOVETAIL_LIBAIO DOVETAIL_LIBAIO_INCLUDE DOVETAIL_TOMLPLUSPLUS_INCLUDE)

# Private to the library: nothing of these shows in a public header.
add_library(dovetail_dependencies INTERFACE)
target_link_libraries(dovetail_dependencies INTERFACE
  PkgConfig::liburing PkgConfig::hwloc PkgConfig::libxxhash Boost::context Threads::Threads nlohmann_json::nlohmann_json "${DOVETAIL_LIBAIO}")
