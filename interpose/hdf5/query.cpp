#include "query.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <climits>
#include <iterator>

#include "background.hpp"
#include "deferred_file.hpp"
#include "errors.hpp"

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

std::vector<DeferredFile*> files_of(const Object& object, H5I_type_t type, hid_t properties) {
  std::vector<char> name(PATH_MAX);
  std::size_t length = 0;
  H5VL_file_get_args_t arguments{};
  arguments.op_type = H5VL_FILE_GET_NAME;
  arguments.args.get_name.type = type;
  arguments.args.get_name.buf_size = name.size();
  arguments.args.get_name.buf = name.data();
  arguments.args.get_name.file_name_len = &length;
  if (H5VLfile_get(object.under, object.connector, &arguments, properties, nullptr) < 0 || length >= name.size()) {
    return {};
  }
  Background& background = Background::instance();
  const Lock lock(background.mutex);
  std::vector<DeferredFile*> found;
  std::ranges::copy_if(background.files, std::back_inserter(found),
                       [&](const DeferredFile* file) { return file->path() == name.data(); });
  return found;
}

bool transforms(hid_t properties) {
  // It is an error to have no expression, and none to speak of.
  const QuietErrors quiet;
  return !quiet.quiet() || H5Pget_data_transform(properties, nullptr, 0) > 0;
}

}  // namespace dovetail::hdf5
