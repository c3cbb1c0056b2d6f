// What HDF5 calls in place of its own deflate filter: it looks first whether tasks have compressed the chunk.
#pragma once

namespace dovetail::hdf5 {

/// Puts it in the place of HDF5's. False: it cannot be done with this HDF5. The caller holds HDF5's lock.
bool install_deflate_filter();
/// HDF5 ends itself, and its table of filters with it.
void forget_deflate_filter() noexcept;

}  // namespace dovetail::hdf5
