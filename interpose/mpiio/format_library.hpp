// HDF5 and PnetCDF count on more than MPI promises: what one rank has written, another one sees and writes over without MPI_File_sync. So it is with their
// metadata, which ranks write in turn, and with fill values.
#pragma once

#include <cstdint>

namespace dovetail::interpose::mpiio {

/// The largest part of metadata that HDF5 writes (H5C_MAX_ENTRY_SIZE). What is not longer and no collective call's may be metadata.
constexpr std::uint64_t most_metadata_bytes = std::uint64_t{32} << 20;

/// Whether this call comes, perhaps by way of others, from a shared library that is HDF5 or PnetCDF. One that is linked statically is not seen.
bool is_called_by_format_library();

}  // namespace dovetail::interpose::mpiio
