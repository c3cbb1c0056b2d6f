# `cpack -G DEB` in the folder of the build: one package with what `cmake --install` lays down. What it depends on is found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dovetail)
set(CPACK_PACKAGE_VENDOR "The developers of Dovetail")
set(CPACK_PACKAGE_CONTACT "The developers of Dovetail")
set(CPACK_PACKAGE_DESCRIPTION "Libraries, headers and tools of a task runtime for C, C++ and Fortran in which a task that waits for a disk or for a
message gives its core to another, and the doors by which programs that know nothing of tasks use it.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The doors need the library, which is in the package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "pkg-config")
include(CPack)
