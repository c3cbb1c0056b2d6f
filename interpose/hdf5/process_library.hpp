// The HDF5 library that the connector works with. It is linked with none. Each function of HDF5 that it calls is a jump through a table,
// which is filled from the handle of one library. So a process may have several, none of them visible to others.
#pragma once

#include <cstddef>

namespace dovetail::hdf5 {

/// Has the connector work with the library of this handle, for as long as the process lives. @returns Whether it does, now or already; else
/// `why`, which has so many bytes, says why not.
bool use_library(void* library, char* why, std::size_t room) noexcept;

/// In that library and in what it needs; a process may have several copies of either. Null: it is not there.
void* symbol_in_library(const char* name) noexcept;

/// The same as a pointer of its type; whether it is there.
template <class Symbol>
bool find_in_library(const char* name, Symbol& symbol) noexcept {
  symbol = reinterpret_cast<Symbol>(symbol_in_library(name));
  return symbol != nullptr;
}

}  // namespace dovetail::hdf5
