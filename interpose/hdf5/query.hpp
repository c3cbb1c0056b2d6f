// What HDF5 knows of objects and of transfers.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

#include <vector>

#include "object.hpp"

namespace dovetail::hdf5 {

class DeferredFile;

/// A new identifier of the type, the space or the creation properties of a dataset; negative: there is none.
hid_t ask(const Object& dataset, H5VL_dataset_get_t what, hid_t properties);

/// The open files with the name of that which an object is in: one, or none if another driver has it.
std::vector<DeferredFile*> files_of(const Object& object, H5I_type_t type, hid_t properties);

/// Whether a transfer computes an expression with the elements, in memory of the caller. True if it cannot be known.
bool transforms(hid_t properties);

}  // namespace dovetail::hdf5
