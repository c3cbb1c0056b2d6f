// Datasets, attributes and named datatypes.
#include <vector>

#include "call.hpp"
#include "connector.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "pass.hpp"
#include "postponed.hpp"
#include "promise.hpp"
#include "query.hpp"
#include "services.hpp"
#include "whereabouts.hpp"

namespace dovetail::hdf5 {
namespace {

// Several at once are those of one connector below.
std::vector<void*> all_under(size_t count, void* datasets[]) {
  std::vector<void*> under(count);
  for (size_t i = 0; i < count; ++i) {
    if (object_of(datasets[i]).connector != object_of(datasets[0]).connector) {
      return {};
    }
    under[i] = under_of(datasets[i]);
  }
  return under;
}

template <auto under, auto promise, class Data>
herr_t transfer(const char* name, size_t count, void* datasets[], hid_t types[], hid_t memory_spaces[],
                hid_t file_spaces[], hid_t properties, Data* data[], void** request) {
  const Object& self = object_of(datasets[0]);
  Call call(name, self, request);
  for (size_t i = 0; i < count; ++i) {
    promise(call.operation(), object_of(datasets[i]), types[i], memory_spaces[i], file_spaces[i], properties, data[i]);
  }
  if (count == 1) {
    void* one = self.under;
    return call.ended(
        under(1, &one, self.connector, types, memory_spaces, file_spaces, properties, data, call.request()));
  }
  std::vector<void*> all = all_under(count, datasets);
  if (all.empty()) {
    return -1;
  }
  return call.ended(
      under(count, all.data(), self.connector, types, memory_spaces, file_spaces, properties, data, call.request()));
}

void* create(void* parent, const H5VL_loc_params_t* place, const char* name, hid_t links, hid_t type, hid_t space,
             hid_t creation, hid_t access, hid_t transfer, void** request) {
  if (Object* const later = Postponed::instance().create(object_of(parent), *place, name,
                                                         {links, type, space, creation, access, transfer})) {
    return later;
  }
  void* const made = Passed<"H5Dcreate", H5VLdataset_create>::callback(parent, place, name, links, type, space,
                                                                       creation, access, transfer, request);
  if (made != nullptr && (creation == H5P_DATASET_CREATE_DEFAULT || H5Pget_nfilters(creation) == 0)) {
    object_of(made).compression_known = true;
  }
  return made;
}

// Most calls ask for what does not change with writes to the dataset.
herr_t get(void* dataset, H5VL_dataset_get_args_t* arguments, hid_t transfer, void** request) {
  const Object& self = handle_of(dataset);
  const auto asked = arguments->op_type;
  const bool to_be_changed = self.compressed != nullptr && self.compressed->space_to_be.valid();
  if (to_be_changed && asked == H5VL_DATASET_GET_SPACE) {
    arguments->args.get_space.space_id = space_of(self, transfer);
    return arguments->args.get_space.space_id < 0 ? -1 : 0;
  }
  if (to_be_changed && asked == H5VL_DATASET_GET_TYPE) {
    arguments->args.get_type.type_id = H5Tcopy(self.compressed->type.get());
    return arguments->args.get_type.type_id < 0 ? -1 : 0;
  }
  if (!self.to_be_made && (asked == H5VL_DATASET_GET_SPACE || asked == H5VL_DATASET_GET_TYPE ||
                           asked == H5VL_DATASET_GET_DCPL || asked == H5VL_DATASET_GET_DAPL)) {
    Call call("H5Dget", self, request, Call::Order::any);
    return call.ended(H5VLdataset_get(self.under, self.connector, arguments, transfer, call.request()));
  }
  const herr_t result = Passed<"H5Dget", H5VLdataset_get>::callback(dataset, arguments, transfer, request);
  const bool of_storage = asked == H5VL_DATASET_GET_STORAGE_SIZE || asked == H5VL_DATASET_GET_SPACE_STATUS;
  return result >= 0 && of_storage ? settle_storage(dataset) : result;
}

herr_t specific(void* dataset, H5VL_dataset_specific_args_t* arguments, hid_t transfer, void** request) {
  if (arguments->op_type == H5VL_DATASET_SET_EXTENT &&
      Postponed::instance().extend(handle_of(dataset), arguments->args.set_extent.size, transfer)) {
    return 0;
  }
  return Passed<"H5Dspecific", H5VLdataset_specific>::callback(dataset, arguments, transfer, request);
}

// A write that the caller took for done, and that failed, must not be read as if it had been made.
bool report_lost(const char* call, Kind kind, size_t count, void* datasets[]) {
  if (!services().any_failed()) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const Object& dataset = handle_of(datasets[i]);
    const DriverFile* const file =
        dataset.compressed != nullptr ? dataset.compressed->file : file_of(dataset, H5I_DATASET);
    const auto known = information_of(dataset, H5I_DATASET);
    if ((dataset.compressed != nullptr && dataset.compressed->lost) ||
        (file != nullptr && known && file->has_lost(known->token))) {
      push_error(kind, call, file->staged().failure());
      return true;
    }
  }
  return false;
}

herr_t read(size_t count, void* datasets[], hid_t types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t properties,
            void* data[], void** request) {
  make_postponed();
  if (report_lost("H5Dread", Kind::read, count, datasets)) {
    return -1;
  }
  return transfer<H5VLdataset_read, promise_for_read>("H5Dread", count, datasets, types, memory_spaces, file_spaces,
                                                      properties, data, request);
}

herr_t write(size_t count, void* datasets[], hid_t types[], hid_t memory_spaces[], hid_t file_spaces[],
             hid_t properties, const void* data[], void** request) {
  if (Object& dataset = handle_of(datasets[0]);
      count == 1 && (!dataset.compression_known || dataset.compressed != nullptr)) {
    Call call("H5Dwrite", dataset, request, Call::Order::any);
    const WriteArguments arguments{types[0], memory_spaces[0], file_spaces[0], properties, data[0]};
    if (const auto answer = Postponed::instance().write(dataset, arguments, call.operation())) {
      return call.ended(*answer);
    }
  }
  make_postponed();
  if (report_lost("H5Dwrite", Kind::write, count, datasets)) {
    return -1;
  }
  return transfer<H5VLdataset_write, promise_for_write>("H5Dwrite", count, datasets, types, memory_spaces, file_spaces,
                                                        properties, data, request);
}

herr_t close(void* dataset, hid_t transfer, void** request) {
  if (Postponed::instance().close(handle_of(dataset), H5I_DATASET, H5VLdataset_close)) {
    return 0;
  }
  const herr_t result = Passed<"H5Dclose", H5VLdataset_close>::callback(dataset, transfer, request);
  services().chunks.drop(dataset);
  return result;
}

herr_t read_attribute(void* attribute, hid_t type, void* data, hid_t properties, void** request) {
  const Object& self = object_of(attribute);
  Call call("H5Aread", self, request);
  return call.ended(H5VLattr_read(self.under, self.connector, type, data, properties, call.request()));
}

herr_t write_attribute(void* attribute, hid_t type, const void* data, hid_t properties, void** request) {
  const Object& self = object_of(attribute);
  Call call("H5Awrite", self, request);
  return call.ended(H5VLattr_write(self.under, self.connector, type, data, properties, call.request()));
}

}  // namespace

H5VL_dataset_class_t dataset_class() {
  return {.create = guarded<create>,
          .open = passed<"H5Dopen", H5VLdataset_open>,
          .read = guarded<read>,
          .write = guarded<write>,
          .get = guarded<get>,
          .specific = guarded<specific>,
          .optional = guarded<optional_of_dataset>,
          .close = guarded<close>};
}

H5VL_attr_class_t attribute_class() {
  return {.create = passed<"H5Acreate", H5VLattr_create>,
          .open = passed<"H5Aopen", H5VLattr_open>,
          .read = guarded<read_attribute>,
          .write = guarded<write_attribute>,
          .get = passed<"H5Aget", H5VLattr_get>,
          .specific = passed<"H5Aspecific", H5VLattr_specific>,
          .optional = passed<"attribute operation", H5VLattr_optional>,
          .close = passed<"H5Aclose", H5VLattr_close>};
}

H5VL_datatype_class_t datatype_class() {
  return {.commit = passed<"H5Tcommit", H5VLdatatype_commit>,
          .open = passed<"H5Topen", H5VLdatatype_open>,
          .get = passed<"H5Tget", H5VLdatatype_get>,
          .specific = passed<"H5Tspecific", H5VLdatatype_specific>,
          .optional = passed<"datatype operation", H5VLdatatype_optional>,
          .close = passed<"H5Tclose", H5VLdatatype_close>};
}

}  // namespace dovetail::hdf5
