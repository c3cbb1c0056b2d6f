// Calls whose answer leads a program to the file itself: where a chunk lies, how long the file is. A program that has such an answer
// reads the file without HDF5, so what was written before must be there.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

namespace dovetail::hdf5 {

/// As the callbacks of the same purpose. A call about a dataset fails if a write to its file has failed.
herr_t optional_of_dataset(void* dataset, H5VL_optional_args_t* arguments, hid_t transfer, void** request);
herr_t optional_of_file(void* file, H5VL_optional_args_t* arguments, hid_t transfer, void** request);
herr_t optional_of_object(void* object, const H5VL_loc_params_t* place, H5VL_optional_args_t* arguments, hid_t transfer,
                          void** request);
/// After HDF5 has said how much of the file a dataset takes.
herr_t settle_storage(void* dataset);

}  // namespace dovetail::hdf5
