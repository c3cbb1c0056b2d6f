// Functions that not every HDF5 has, or that are no public ones, in the copy that the connector is bound to.
#pragma once

namespace dovetail::hdf5 {

/// In that library and in what it needs; a process may have several copies of either. Null: it is not there.
void* symbol_in_library(const char* name) noexcept;

/// The same as a pointer of its type; whether it is there.
template <class Symbol>
bool find_in_library(const char* name, Symbol& symbol) noexcept {
  symbol = reinterpret_cast<Symbol>(symbol_in_library(name));
  return symbol != nullptr;
}

}  // namespace dovetail::hdf5
