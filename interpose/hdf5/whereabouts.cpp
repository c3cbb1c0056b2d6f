#include "whereabouts.hpp"

#include <H5VLnative.h>

#include <algorithm>

#include "call.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "pass.hpp"
#include "query.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {

// Nothing of the answer is in the file, or it comes through the driver. All other operations settle, those of a later HDF5 too.
bool of_dataset_tells_place(int operation) {
  switch (operation) {
    case H5VL_NATIVE_DATASET_FORMAT_CONVERT:
    case H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE:
    case H5VL_NATIVE_DATASET_CHUNK_READ:
    case H5VL_NATIVE_DATASET_CHUNK_WRITE:
    case H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE:
      return false;
    default:
      return true;
  }
}

bool of_file_tells_size(int operation) {
  switch (operation) {
    case H5VL_NATIVE_FILE_CLEAR_ELINK_CACHE:
    case H5VL_NATIVE_FILE_GET_FILE_IMAGE:
    case H5VL_NATIVE_FILE_GET_MDC_CONF:
    case H5VL_NATIVE_FILE_GET_MDC_HR:
    case H5VL_NATIVE_FILE_GET_MDC_SIZE:
    case H5VL_NATIVE_FILE_GET_VFD_HANDLE:  // the driver settles
    case H5VL_NATIVE_FILE_RESET_MDC_HIT_RATE:
    case H5VL_NATIVE_FILE_SET_MDC_CONFIG:
    case H5VL_NATIVE_FILE_GET_METADATA_READ_RETRY_INFO:
    case H5VL_NATIVE_FILE_START_SWMR_WRITE:
    case H5VL_NATIVE_FILE_START_MDC_LOGGING:
    case H5VL_NATIVE_FILE_STOP_MDC_LOGGING:
    case H5VL_NATIVE_FILE_GET_MDC_LOGGING_STATUS:
    case H5VL_NATIVE_FILE_FORMAT_CONVERT:
    case H5VL_NATIVE_FILE_RESET_PAGE_BUFFERING_STATS:
    case H5VL_NATIVE_FILE_GET_PAGE_BUFFERING_STATS:
    case H5VL_NATIVE_FILE_SET_LIBVER_BOUNDS:
    case H5VL_NATIVE_FILE_GET_MIN_DSET_OHDR_FLAG:
    case H5VL_NATIVE_FILE_SET_MIN_DSET_OHDR_FLAG:
    case H5VL_NATIVE_FILE_POST_OPEN:
      return false;
    default:
      return true;
  }
}

// All files where HDF5 does not say which.
std::string settle(const Object& object, H5I_type_t type) {
  if (DriverFile* const file = file_of(object, type)) {
    return file->settle(Cause::answer);
  }
  services().drain(Cause::answer);
  return {};
}

herr_t settled(const char* call, const Object& object, H5I_type_t type) {
  const std::string failed = settle(object, type);
  if (!failed.empty()) {
    push_error(Kind::write, call, failed);
    return -1;
  }
  return 0;
}

// HDF5 writes what is in its cache of chunks before it visits the first one. The program may read each as soon as it is told of it.
struct ChunkVisit {
  const Object* dataset;
  H5D_chunk_iter_op_t visit;
  void* data;
  bool settled = false;
};

int visit_chunk(const hsize_t* offset, unsigned filters, haddr_t address, hsize_t size, void* given) {
  auto& chunks = *static_cast<ChunkVisit*>(given);
  if (!chunks.settled) {
    if (settled("H5Dchunk_iter", *chunks.dataset, H5I_DATASET) < 0) {
      return H5_ITER_ERROR;
    }
    chunks.settled = true;
  }
  return chunks.visit(offset, filters, address, size, chunks.data);
}

}  // namespace

herr_t optional_of_dataset(void* dataset, H5VL_optional_args_t* arguments, hid_t transfer, void** request) {
  using Pass = Passed<"dataset operation", H5VLdataset_optional>;
  if (!of_dataset_tells_place(arguments->op_type)) {
    return Pass::callback(dataset, arguments, transfer, request);
  }
  const Object& self = object_of(dataset);
  if (arguments->op_type == H5VL_NATIVE_DATASET_CHUNK_ITER) {
    H5VL_native_dataset_optional_args_t native = *static_cast<H5VL_native_dataset_optional_args_t*>(arguments->args);
    ChunkVisit chunks{&self, native.chunk_iter.op, native.chunk_iter.op_data};
    native.chunk_iter.op = visit_chunk;
    native.chunk_iter.op_data = &chunks;
    H5VL_optional_args_t changed{.op_type = arguments->op_type, .args = &native};
    return Pass::callback(dataset, &changed, transfer, request);
  }
  const herr_t result = Pass::callback(dataset, arguments, transfer, request);
  return result < 0 ? result : settled("dataset operation", self, H5I_DATASET);
}

herr_t settle_storage(void* dataset) { return settled("H5Dget", object_of(dataset), H5I_DATASET); }

herr_t optional_of_file(void* file, H5VL_optional_args_t* arguments, hid_t transfer, void** request) {
  const bool settles = of_file_tells_size(arguments->op_type);
  const herr_t result = Passed<"file operation", H5VLfile_optional>::callback(file, arguments, transfer, request);
  if (result >= 0 && settles) {
    settle(object_of(file), H5I_FILE);
  }
  return result;
}

herr_t optional_of_object(void* object, const H5VL_loc_params_t* place, H5VL_optional_args_t* arguments, hid_t transfer,
                          void** request) {
  const herr_t result =
      Passed<"object operation", H5VLobject_optional>::callback(object, place, arguments, transfer, request);
  if (result >= 0 && arguments->op_type == H5VL_NATIVE_OBJECT_GET_NATIVE_INFO) {
    services().drain(Cause::answer);
  }
  return result;
}

}  // namespace dovetail::hdf5
