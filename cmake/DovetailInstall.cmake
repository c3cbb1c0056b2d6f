# What `cmake --install` lays down: headers, library, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS dovetail EXPORT dovetail-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.f90")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dovetail")
install(EXPORT dovetail-targets NAMESPACE dovetail:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/dovetail-config.cmake.in"
  "${PROJECT_BINARY_DIR}/dovetail-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/dovetail-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/dovetail-config.cmake" "${PROJECT_BINARY_DIR}/dovetail-config-version.cmake"
        DESTINATION "${package_dir}")

# An absolute library folder would pin the file to the prefix given at configure time, whereas `cmake --install
# --prefix` may choose another: the prefix is therefore found from the place of the file itself.
file(RELATIVE_PATH pkgconfig_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/cmake/dovetail.pc.in" "${PROJECT_BINARY_DIR}/dovetail.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/dovetail.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
