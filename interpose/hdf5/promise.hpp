// Which memory of the program may be read or written by a transfer after the call that named it has returned.
#pragma once

#include <hdf5.h>

#include "object.hpp"

namespace dovetail::hdf5 {

/// Name of the property of a transfer list above how many bytes a write is not copied.
inline constexpr auto copy_limit_property = "dovetail_copy_limit";

/// Adds to `operation` what the caller of a write promises about `data`. The caller leaves the data alone if it has asked for a request, or
/// has set a limit for copies that this write exceeds.
void promise_for_write(Operation& operation, const Object& dataset, hid_t type, hid_t memory_space, hid_t file_space,
                       hid_t properties, const void* data);
/// The same of a read, if what is in the file is what is to be in memory, byte for byte.
void promise_for_read(Operation& operation, const Object& dataset, hid_t type, hid_t memory_space, hid_t file_space,
                      hid_t properties, const void* data);

}  // namespace dovetail::hdf5
