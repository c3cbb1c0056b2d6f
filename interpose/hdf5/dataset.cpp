// Datasets, attributes and named datatypes.
#include <vector>

#include "connector.hpp"
#include "object.hpp"
#include "pass.hpp"
#include "promise.hpp"

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

herr_t read(size_t count, void* datasets[], hid_t types[], hid_t memory_spaces[], hid_t file_spaces[], hid_t properties,
            void* data[], void** request) {
  return transfer<H5VLdataset_read, promise_for_read>("H5Dread", count, datasets, types, memory_spaces, file_spaces,
                                                      properties, data, request);
}

herr_t write(size_t count, void* datasets[], hid_t types[], hid_t memory_spaces[], hid_t file_spaces[],
             hid_t properties, const void* data[], void** request) {
  return transfer<H5VLdataset_write, promise_for_write>("H5Dwrite", count, datasets, types, memory_spaces, file_spaces,
                                                        properties, data, request);
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
  return {.create = passed<"H5Dcreate", H5VLdataset_create>,
          .open = passed<"H5Dopen", H5VLdataset_open>,
          .read = guarded<read>,
          .write = guarded<write>,
          .get = passed<"H5Dget", H5VLdataset_get>,
          .specific = passed<"H5Dspecific", H5VLdataset_specific>,
          .optional = passed<"dataset operation", H5VLdataset_optional>,
          .close = passed<"H5Dclose", H5VLdataset_close>};
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
