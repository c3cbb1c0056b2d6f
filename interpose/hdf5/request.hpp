// The requests behind HDF5's event sets.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

#include <memory>

#include "operation.hpp"

namespace dovetail::hdf5 {

/// A request for transfers, for what the connector below has begun, or for both. HDF5 frees it through the class.
void* new_request(std::shared_ptr<Transfers> transfers, void* under, hid_t connector);

H5VL_request_class_t request_class();

}  // namespace dovetail::hdf5
