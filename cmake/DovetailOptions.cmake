# Options, language standards and compiler flags that every target of this tree shares.

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

set(DOVETAIL_SANITIZE "" CACHE STRING "Sanitizer: empty, thread, or address (address and undefined behaviour)")
set_property(CACHE DOVETAIL_SANITIZE PROPERTY STRINGS "" thread address)
if(NOT DOVETAIL_SANITIZE MATCHES "^(thread|address)?$")
  message(FATAL_ERROR "DOVETAIL_SANITIZE is '${DOVETAIL_SANITIZE}': it must be empty, thread or address")
endif()

# For `make fuzz`: the compiler is clang, and every source tells libFuzzer which branches were taken.
option(DOVETAIL_FUZZ "Build the fuzzers of tests/fuzz with libFuzzer" OFF)
option(DOVETAIL_WERROR "Make compiler warnings errors" OFF)
set(aside OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(aside AUTO)
endif()
dovetail_part(TESTS ${aside} "The tests")
dovetail_part(EXAMPLES ${aside} "The examples")
dovetail_part(BENCHMARKS ${aside} "The benchmarks (never under a sanitizer, where a number says nothing)")
dovetail_part(PYTHON AUTO "The extension module of the Python package")
dovetail_part(MPI AUTO "The doors of MPI programs: messages as events, files by way of a fast tier")
dovetail_part(HDF5 AUTO "The connector for HDF5 programs")
dovetail_part(TOOLS AUTO "The programs dovetail-doctor, -tiom, -staging, -advisord and -observer")
dovetail_part(OBSERVER AUTO "The program dovetail-observer, one of the tools")
if(DOVETAIL_SANITIZE)
  set(DOVETAIL_BENCHMARKS OFF)
endif()

# For work on a lower room while the ones above it do not build: "base;fiber", say.
set(DOVETAIL_ONLY_ROOMS "" CACHE STRING "Build and test these rooms only (empty: all rooms, and everything on them)")
set(DOVETAIL_TEST_SECONDS 300 CACHE STRING "After which a test that has not ended fails (0: what ctest is told)")
if(DOVETAIL_ONLY_ROOMS)
  set(DOVETAIL_EXAMPLES OFF)
  set(DOVETAIL_BENCHMARKS OFF)
endif()

# The compiler reads several sources at a time where all of them are built: most of the time of a build goes into headers. Where only some rooms
# are built, somebody works on them, and changes one source at a time.
if(DOVETAIL_SANITIZE OR (CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT DOVETAIL_ONLY_ROOMS))
  set(CMAKE_UNITY_BUILD ON)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# -g1: line numbers in backtraces and profiles cost nothing at run time.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")

add_library(dovetail_flags INTERFACE)
target_compile_options(dovetail_flags INTERFACE
  # Not of instrumented code: the release is built of the same sources, and looking for what to warn of takes time.
  $<$<AND:$<NOT:$<BOOL:${DOVETAIL_SANITIZE}>>,$<COMPILE_LANGUAGE:C,CXX>>:-Wall -Wextra -Wshadow -Wconversion -Wundef>
  # g++ 12 sees overlapping copies in `"text" + string` (GCC bug 105651).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # g++ also warns of instrumented code where there is nothing.
  $<$<AND:$<BOOL:${DOVETAIL_WERROR}>,$<NOT:$<BOOL:${DOVETAIL_SANITIZE}>>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
# Tests drive the library and do little themselves: optimising them takes several times as long as it saves.
target_compile_options(dovetail_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:DOVETAIL_TEST_PROGRAM>>:-O0>)
if(DOVETAIL_SANITIZE STREQUAL "thread")
  set(sanitizer_flags -fsanitize=thread)
elseif(DOVETAIL_SANITIZE STREQUAL "address")
  # Without vptr: that check asks the kernel through a pipe whether an address can be read, and a process that has no
  # descriptor left (tests of small limits) is then told of faults that are not there.
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
endif()
if(DOVETAIL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT DOVETAIL_SANITIZE STREQUAL "address")
    message(FATAL_ERROR "DOVETAIL_FUZZ needs clang and DOVETAIL_SANITIZE=address: see `make fuzz`")
  endif()
  target_compile_options(dovetail_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DOVETAIL_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
  target_compile_options(dovetail_flags INTERFACE ${sanitizer_flags} -fno-omit-frame-pointer)
  # What is undefined is looked for in the library: in what the tests say to it these checks find little, and are a third of the time of compiling.
  target_compile_options(dovetail_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:DOVETAIL_TEST_PROGRAM>>:-fno-sanitize=undefined>)
  target_link_options(dovetail_flags INTERFACE ${sanitizer_flags})
endif()
