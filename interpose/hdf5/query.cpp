#include "query.hpp"

#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include <algorithm>

#include "driver.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {

hid_t ask(const Object& dataset, H5VL_dataset_get_t what, hid_t properties) {
  H5VL_dataset_get_args_t arguments{};
  arguments.op_type = what;
  hid_t* answer = nullptr;
  switch (what) {
    case H5VL_DATASET_GET_TYPE:
      answer = &arguments.args.get_type.type_id;
      break;
    case H5VL_DATASET_GET_SPACE:
      answer = &arguments.args.get_space.space_id;
      break;
    default:
      answer = &arguments.args.get_dcpl.dcpl_id;
      break;
  }
  *answer = H5I_INVALID_HID;
  H5VLdataset_get(dataset.under, dataset.connector, &arguments, properties, nullptr);
  return *answer;
}

std::optional<H5O_info2_t> information_of(const Object& object, H5I_type_t type) {
  if (object.under == nullptr) {
    return std::nullopt;
  }
  H5O_info2_t found{};
  const H5VL_loc_params_t self{.obj_type = type, .type = H5VL_OBJECT_BY_SELF, .loc_data = {}};
  H5VL_object_get_args_t arguments{};
  arguments.op_type = H5VL_OBJECT_GET_INFO;
  arguments.args.get_info.fields = H5O_INFO_BASIC;
  arguments.args.get_info.oinfo = &found;
  return H5VLobject_get(object.under, &self, object.connector, &arguments, H5P_DATASET_XFER_DEFAULT, nullptr) < 0
             ? std::nullopt
             : std::optional(found);
}

DriverFile* file_of(const Object& object, H5I_type_t type) {
  const std::optional<H5O_info2_t> known = information_of(object, type);
  if (!known) {
    return nullptr;
  }
  const Lock lock(services().stage.mutex);
  const auto found = std::ranges::find(services().files, std::optional(known->fileno), &DriverFile::number);
  return found != services().files.end() ? *found : nullptr;
}

DriverFile* file_opened(const Object& file) {
  H5VL_class_value_t connector = H5_VOL_INVALID;
  if (H5VLget_value(file.connector, &connector) < 0 || connector != H5_VOL_NATIVE) {
    return nullptr;
  }
  void* handle = nullptr;
  H5VL_native_file_optional_args_t native{};
  native.get_vfd_handle.fapl_id = H5P_FILE_ACCESS_DEFAULT;
  native.get_vfd_handle.file_handle = &handle;
  H5VL_optional_args_t optional{.op_type = H5VL_NATIVE_FILE_GET_VFD_HANDLE, .args = &native};
  unsigned long number = 0;
  H5VL_file_get_args_t arguments{};
  arguments.op_type = H5VL_FILE_GET_FILENO;
  arguments.args.get_fileno.fileno = &number;
  const QuietErrors quiet;  // not every driver has a handle
  const AskingForHandle asking;
  if (H5VLfile_optional(file.under, file.connector, &optional, H5P_DATASET_XFER_DEFAULT, nullptr) < 0 ||
      H5VLfile_get(file.under, file.connector, &arguments, H5P_DATASET_XFER_DEFAULT, nullptr) < 0) {
    return nullptr;
  }
  DriverFile* const found = handle != nullptr ? file_of_handle(handle) : nullptr;
  if (found != nullptr) {
    found->number_is(number);
  }
  return found;
}

bool transforms(hid_t properties) {
  // It is an error to have no expression, and none to speak of.
  const QuietErrors quiet;
  return !quiet.quiet() || H5Pget_data_transform(properties, nullptr, 0) > 0;
}

}  // namespace dovetail::hdf5
