# The HDF5 that the connector is built against and tested with. Only its headers are needed to build: nothing links libhdf5,
# which is the user's own. `make setup-hdf5` fetches both; without headers there is no connector, and its tests are skipped.
#   hdf5::headers      headers of 1.14.5 or newer (the oldest with the connector interface in use today)
#   hdf5::threadsafe   a thread-safe library with the same headers, for tests and benchmarks in C
#   DOVETAIL_HDF5_TOOLS  folder of h5diff, h5dump and HDF5's own tests that belong to it
if(NOT DOVETAIL_HDF5)
  return()
endif()
set(DOVETAIL_HDF5_INCLUDE "" CACHE PATH "Folder of H5public.h, 1.14.5 or newer (empty: .cache-hdf5, then the system's)")
set(dovetail_hdf5_cache "${PROJECT_SOURCE_DIR}/.cache-hdf5")

# dovetail_hdf5_version(variable folder): the version of the headers there, empty where there are none.
function(dovetail_hdf5_version variable folder)
  set(${variable} "" PARENT_SCOPE)
  if(EXISTS "${folder}/H5public.h")
    file(STRINGS "${folder}/H5public.h" lines REGEX "^#define H5_VERS_(MAJOR|MINOR|RELEASE) +[0-9]+")
    string(REGEX MATCHALL "[0-9]+( |$|;)" numbers "${lines};")
    list(TRANSFORM numbers REPLACE "[^0-9]" "")
    list(FILTER numbers EXCLUDE REGEX "^$")
    list(JOIN numbers "." version)
    set(${variable} "${version}" PARENT_SCOPE)
  endif()
endfunction()

set(dovetail_hdf5_found "")
foreach(folder IN ITEMS "${DOVETAIL_HDF5_INCLUDE}" "${dovetail_hdf5_cache}/headers" /usr/include/hdf5/serial /usr/include
        /usr/local/include)
  dovetail_hdf5_version(version "${folder}")
  if(version AND version VERSION_GREATER_EQUAL 1.14.5)
    set(dovetail_hdf5_found "${folder}")
    message(STATUS "HDF5 ${version} headers in ${folder}")
    break()
  elseif(folder STREQUAL DOVETAIL_HDF5_INCLUDE AND folder)
    dovetail_missing("H5public.h of HDF5 1.14.5 or newer in DOVETAIL_HDF5_INCLUDE, which is '${folder}'")
  endif()
endforeach()

if(dovetail_hdf5_found)
  add_library(dovetail_hdf5_headers INTERFACE)
  add_library(hdf5::headers ALIAS dovetail_hdf5_headers)
  target_include_directories(dovetail_hdf5_headers SYSTEM INTERFACE "${dovetail_hdf5_found}")
else()
  dovetail_part_lacks(HDF5 "a folder of headers of HDF5 1.14.5 or newer (`make setup` gets them, DOVETAIL_HDF5_INCLUDE names them)")
endif()

# Beside the headers of the library itself: the configuration of the two builds differs.
if(EXISTS "${dovetail_hdf5_cache}/threadsafe/bin/libhdf5.so")
  add_library(dovetail_hdf5_threadsafe SHARED IMPORTED)
  add_library(hdf5::threadsafe ALIAS dovetail_hdf5_threadsafe)
  set_target_properties(dovetail_hdf5_threadsafe PROPERTIES
    IMPORTED_LOCATION "${dovetail_hdf5_cache}/threadsafe/bin/libhdf5.so"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${dovetail_hdf5_cache}/threadsafe/include"
    INTERFACE_INCLUDE_DIRECTORIES "${dovetail_hdf5_cache}/threadsafe/include")
  set(DOVETAIL_HDF5_TOOLS "${dovetail_hdf5_cache}/threadsafe/bin")
endif()
