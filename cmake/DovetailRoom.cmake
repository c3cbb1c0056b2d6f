# A room is one folder of sources compiled into one object library; all rooms together are the one shared library.

# dovetail_room(name [DEPENDS lower-rooms...] [SOURCES folder])
# A folder without sources yet (a room of headers alone, say) makes no target.
function(dovetail_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "AS_ONE" "SOURCES" "DEPENDS")
  if(NOT room_SOURCES)
    set(room_SOURCES "src/${name}")
  endif()
  get_property(known GLOBAL PROPERTY DOVETAIL_ROOMS)
  foreach(lower IN LISTS room_DEPENDS)
    if(NOT lower IN_LIST known)
      message(FATAL_ERROR "Room '${name}' depends on '${lower}', which is not declared below it")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_ROOMS "${name}")
  if(DOVETAIL_ONLY_ROOMS AND NOT name IN_LIST DOVETAIL_ONLY_ROOMS)
    return()
  endif()

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room_SOURCES}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_library(dovetail_${name} OBJECT ${sources})
  target_include_directories(dovetail_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  # initial-exec: thread-locals are read a dozen times for every task, and calls into the loader for them would be a sixth of its
  # instructions. The price is a place in a reserve of 1.6 KiB that all libraries share which a program loads late (Python's): so
  # little is thread-local here, and nothing of other libraries (std::call_once). tests/package/libraries.py sees to it.
  target_compile_options(dovetail_${name} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
  set_target_properties(dovetail_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Where CMAKE_UNITY_BUILD is set to off, one source is changed at a time (scripts/mutants.py).
  if(room_AS_ONE AND NOT (DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD))
    set_target_properties(dovetail_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  target_link_libraries(dovetail_${name} PRIVATE dovetail_flags dovetail_dependencies)
  # What most sources include is parsed once. Each source includes what it uses all the same.
  get_property(parsed GLOBAL PROPERTY DOVETAIL_PARSED_HEADERS)
  if(parsed)
    target_precompile_headers(dovetail_${name} REUSE_FROM ${parsed})
  else()
    target_precompile_headers(dovetail_${name} PRIVATE
      <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <exception> <functional> <memory>
      <mutex> <optional> <span> <stdexcept> <string> <string_view> <thread> <utility> <vector>)
    set_property(GLOBAL PROPERTY DOVETAIL_PARSED_HEADERS dovetail_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_OBJECTS "$<TARGET_OBJECTS:dovetail_${name}>")
endfunction()

# dovetail_library_of_rooms(target): a shared library of all rooms declared so far.
function(dovetail_library_of_rooms target)
  get_property(objects GLOBAL PROPERTY DOVETAIL_OBJECTS)
  if(NOT objects)
    message(FATAL_ERROR "No room has a source file: is ${PROJECT_SOURCE_DIR}/src complete?")
  endif()
  add_library(${target} SHARED ${objects})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME dovetail VERSION "${PROJECT_VERSION}" SOVERSION 0 LINKER_LANGUAGE CXX INSTALL_RPATH "$ORIGIN")
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:dovetail_flags> $<BUILD_INTERFACE:dovetail_dependencies>)
  # Calls from one room to another need no indirection: nobody is meant to stand between them.
  target_link_options(${target} PRIVATE "LINKER:--as-needed" "LINKER:-z,defs" "LINKER:-Bsymbolic-functions")
  if(DOVETAIL_SANITIZE)
    # A program that uses an instrumented library must bring the sanitizer's runtime.
    target_link_options(${target} INTERFACE "$<BUILD_INTERFACE:${sanitizer_flags}>")
  endif()
endfunction()

# The library that is installed shows the public interface. `dovetail_rooms` is the same, under the same name in another folder, and shows
# all: for tests and benchmarks of single rooms. A program that was linked with it loads it in place of the other.
function(dovetail_library)
  dovetail_library_of_rooms(dovetail)
  add_library(dovetail::dovetail ALIAS dovetail)
  set(map "${PROJECT_SOURCE_DIR}/cmake/dovetail.map")
  target_link_options(dovetail PRIVATE "LINKER:--version-script=${map}")
  set_target_properties(dovetail PROPERTIES LINK_DEPENDS "${map}")
  dovetail_library_of_rooms(dovetail_rooms)
  set_target_properties(dovetail_rooms PROPERTIES
    EXCLUDE_FROM_ALL ON LIBRARY_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/rooms")
endfunction()

# dovetail_use_rooms(target): a program of this tree that uses the rooms themselves.
function(dovetail_use_rooms target)
  target_include_directories("${target}" PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # Also where something else that it is linked with comes with the other library. CMake by itself warns that it finds no order: both folders have
  # libraries that the program needs, and one of the same name.
  set_target_properties("${target}" PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/rooms;${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  target_link_libraries("${target}" PRIVATE dovetail_rooms)
endfunction()

# dovetail_contain_rooms(target): the same for a program that is installed, which contains what it uses.
function(dovetail_contain_rooms target)
  get_property(objects GLOBAL PROPERTY DOVETAIL_OBJECTS)
  target_sources("${target}" PRIVATE ${objects})
  target_include_directories("${target}" PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries("${target}" PRIVATE dovetail_flags dovetail_dependencies)
  target_compile_features("${target}" PRIVATE cxx_std_20)
endfunction()

# dovetail_includes_rooms(target rooms...): a door or a tool may include headers of these rooms. scripts/check_rooms.py holds its files to them.
function(dovetail_includes_rooms target)
  target_include_directories("${target}" PRIVATE "${PROJECT_SOURCE_DIR}/src")
endfunction()
