// What HDF5 knows of objects and of transfers.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

#include <optional>

#include "object.hpp"

namespace dovetail::hdf5 {

class DriverFile;

/// A new identifier of the type, the space or the creation properties of a dataset; negative: there is none.
hid_t ask(const Object& dataset, H5VL_dataset_get_t what, hid_t properties);

/// What HDF5 says of an object: its file's number and its place there.
std::optional<H5O_info2_t> information_of(const Object& object, H5I_type_t type);

/// The open file that an object is in, if the program has opened it by name and no other driver has it. Null otherwise.
DriverFile* file_of(const Object& object, H5I_type_t type);

/// The same of a file that has just been opened; it is known from now on.
DriverFile* file_opened(const Object& file);

/// Whether a transfer computes an expression with the elements, in memory of the caller. True if it cannot be known.
bool transforms(hid_t properties);

}  // namespace dovetail::hdf5
