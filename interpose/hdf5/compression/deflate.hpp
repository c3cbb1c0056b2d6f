// Deflate as the process's HDF5 has it: its filter, and the zlib below it, which tasks may call without HDF5.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dovetail::hdf5 {

struct Deflate {
  using Compress = int (*)(unsigned char* target, unsigned long* target_bytes, const unsigned char* source,
                           unsigned long source_bytes, int level);
  H5Z_class2_t filter;  ///< HDF5's own.
  /// Puts another class in the place of a filter, predefined ones as well, which `H5Zregister` refuses.
  herr_t (*replace)(const H5Z_class2_t*);
  Compress compress;                      ///< zlib's compress2.
  unsigned long (*bound)(unsigned long);  ///< zlib's compressBound.

  /// The bytes that HDF5's filter would make of `source`. None: zlib has no memory. Thread-safe; HDF5 is not called.
  std::optional<std::vector<std::byte>> deflated(std::span<const std::byte> source, unsigned level) const;
};

/// Null: this HDF5 does not show what is needed (it has no deflate, is part of the program, or uses another library for it).
const Deflate* process_deflate();

}  // namespace dovetail::hdf5
