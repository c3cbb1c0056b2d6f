# Functions that make tests out of files.

set(DOVETAIL_TEST_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
if(NOT EXISTS "${DOVETAIL_TEST_PYTHON}")
  set(DOVETAIL_TEST_PYTHON "${Python3_EXECUTABLE}")
endif()

# dovetail_test_properties(test room): what every test has, whatever starts it.
function(dovetail_test_properties test room)
  set(environment "PYTHONFAULTHANDLER=1" "DOVETAIL_BUILD_DIR=${PROJECT_BINARY_DIR}" "DOVETAIL_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  if(DOVETAIL_SANITIZE)
    list(APPEND environment "DOVETAIL_TEST_SCALE=small" "DOVETAIL_SANITIZE=${DOVETAIL_SANITIZE}")
  endif()
  if(DOVETAIL_SANITIZE STREQUAL "thread")
    list(APPEND environment
         "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
  elseif(DOVETAIL_SANITIZE STREQUAL "address")
    list(APPEND environment "ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1"
         "UBSAN_OPTIONS=print_stacktrace=1" "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp")
  endif()
  set_tests_properties("${test}" PROPERTIES
    LABELS "${room}" SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
  if(DOVETAIL_TEST_SECONDS)
    set_tests_properties("${test}" PROPERTIES TIMEOUT "${DOVETAIL_TEST_SECONDS}")
  endif()
  if(room STREQUAL "integration")
    # They kill, throttle and fill disks: not next to others.
    set_tests_properties("${test}" PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# dovetail_test_program(target): a test may use the private headers and what the library is made of.
function(dovetail_test_program target)
  set_target_properties("${target}" PROPERTIES DOVETAIL_TEST_PROGRAM ON)
  target_include_directories("${target}" PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  dovetail_use_rooms("${target}")
  target_link_libraries("${target}" PRIVATE dovetail_flags dovetail_dependencies)
endfunction()

# dovetail_test_headers(target): what nearly every test in C++ includes is parsed once, which halves the time that building them
# takes. Only where GoogleTest is linked.
function(dovetail_test_headers target)
  if(NOT TARGET dovetail_test_headers)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_headers.cpp" CONTENT "")
    add_library(dovetail_test_headers OBJECT "${PROJECT_BINARY_DIR}/test_headers.cpp")
    dovetail_test_program(dovetail_test_headers)
    target_link_libraries(dovetail_test_headers PRIVATE GTest::gtest)
    target_precompile_headers(dovetail_test_headers PRIVATE
      <gtest/gtest.h> <dovetail/dovetail.hpp> <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint>
      <filesystem> <fstream> <functional> <memory> <mutex> <numeric> <random> <sstream> <string> <thread> <vector>)
  endif()
  target_precompile_headers("${target}" REUSE_FROM dovetail_test_headers)
endfunction()

# dovetail_room_tests(room): every test of tests/<room>/.
function(dovetail_room_tests room)
  set(folder "${PROJECT_SOURCE_DIR}/tests/${room}")
  file(GLOB tests CONFIGURE_DEPENDS "${folder}/*_test.cpp" "${folder}/*_test.c")
  file(GLOB fortran_tests CONFIGURE_DEPENDS "${folder}/*_test.f90")
  file(GLOB scripts CONFIGURE_DEPENDS "${folder}/*_test.py" "${folder}/*_test.sh")
  file(GLOB support CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(FILTER support EXCLUDE REGEX "_test\\.cpp$")
  if(support)
    add_library(${room}_test_support STATIC ${support})
    dovetail_test_program(${room}_test_support)
    target_link_libraries(${room}_test_support PUBLIC GTest::gtest)
  endif()
  if(fortran_tests AND CMAKE_Fortran_COMPILER)
    list(APPEND tests ${fortran_tests})
  endif()

  foreach(source IN LISTS tests)
    cmake_path(GET source STEM LAST_ONLY stem)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    set(target "${room}_${stem}")
    if(NOT extension STREQUAL ".cpp")
      string(REPLACE "." "" language "${extension}")
      string(APPEND target "_${language}")
    endif()
    add_executable("${target}" "${source}")
    if(support)
      target_link_libraries("${target}" PRIVATE ${room}_test_support)
    endif()
    dovetail_test_program("${target}")
    if(extension STREQUAL ".cpp")
      target_link_libraries("${target}" PRIVATE GTest::gtest_main)
      dovetail_test_headers("${target}")
    elseif(extension STREQUAL ".f90" AND TARGET dovetail_fortran)
      target_link_libraries("${target}" PRIVATE dovetail_fortran)
    endif()
    add_test(NAME "${target}" COMMAND "${target}")
    dovetail_test_properties("${target}" "${room}")
  endforeach()

  foreach(source IN LISTS scripts)
    cmake_path(GET source STEM LAST_ONLY stem)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    if(extension STREQUAL ".py")
      add_test(NAME "${room}_${stem}" COMMAND "${DOVETAIL_TEST_PYTHON}" "${source}")
    else()
      add_test(NAME "${room}_${stem}" COMMAND bash "${source}")
    endif()
    dovetail_test_properties("${room}_${stem}" "${room}")
  endforeach()
endfunction()

# dovetail_package_tests(): programs outside this tree, in C++ and C, build and run against the installed one, and its libraries are what they must be. Nothing
# instrumented is ever installed, so there are none under a sanitizer.
function(dovetail_package_tests)
  if(DOVETAIL_SANITIZE)
    return()
  endif()
  foreach(way IN ITEMS find_package pkg_config libraries readme quickstart missing bare)
    add_test(NAME "package_${way}" COMMAND bash "${PROJECT_SOURCE_DIR}/tests/package/${way}_test.sh")
    dovetail_test_properties("package_${way}" package)
    set_property(TEST "package_${way}" APPEND PROPERTY ENVIRONMENT
      "CC=${CMAKE_C_COMPILER}" "CXX=${CMAKE_CXX_COMPILER}")
  endforeach()
  # It compiles the library.
  set_property(TEST package_bare PROPERTY TIMEOUT 2400)
endfunction()
