// Deflate as the process's HDF5 has it: its filter, and the zlib below it, which tasks may call without HDF5.
#pragma once

#include <hdf5.h>

#include "compression/codec.hpp"

namespace dovetail::hdf5 {

struct Deflate {
  H5Z_class2_t filter;  ///< HDF5's own.
  /// Puts another class in the place of a filter, predefined ones as well, which `H5Zregister` refuses.
  herr_t (*replace)(const H5Z_class2_t*);
  compression::Codec codec;  ///< zlib's: the bytes that HDF5's filter would make.
};

/// Null: this HDF5 does not show what is needed (it has no deflate, is part of the program, or uses another library for it).
const Deflate* process_deflate();

}  // namespace dovetail::hdf5
