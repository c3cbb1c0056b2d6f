#include "connector.hpp"

#include <H5VLconnector_passthru.h>

#include "call.hpp"
#include "deflate_filter.hpp"
#include "driver.hpp"
#include "errors.hpp"
#include "pass.hpp"
#include "postponed.hpp"
#include "request.hpp"
#include "services.hpp"
#include "settings.hpp"
#include "tasking/background.hpp"

#include <cstdio>
#include <cstdlib>

namespace dovetail::hdf5 {
namespace {

bool in_use = false;  // HDF5 has the connector, and has still to end it
bool exiting = false;
int exit_status = 0;  // of the program, once it exits

void end_with_status_if_failed() {
  const bool failed = services().any_failed();
  const int status = settings().failure_status.value_or(exit_status != 0 ? exit_status : 1);
  if (failed && status != 0 && status != exit_status) {
    std::fflush(nullptr);
    std::_Exit(status);
  }
}

// A program may have HDF5 end itself long before its own end. If it has not, HDF5 does after this, and its last writes may fail.
void at_exit(int status, void* /*nothing*/) {
  exiting = true;
  exit_status = status;
  if (!in_use) {
    end_with_status_if_failed();
  }
}

herr_t initialize(hid_t /*properties*/) {
  settings();
  services();
  [[maybe_unused]] static const int registered = on_exit(at_exit, nullptr);
  in_use = true;
  // Before HDF5 ends anything: identifiers go before files do.
  H5atclose([](void*) { Postponed::instance().make_all(); }, nullptr);
  return 0;
}

herr_t terminate() {
  Services& here = services();
  here.drain(Cause::exit);
  tasking::end_background();
  forget_driver();
  forget_deflate_filter();
  here.chunks.drop_all();
  in_use = false;
  if (settings().report) {
    const Lock lock(here.stage.mutex);
    here.report.print(here.overlap.times(), here.stage.statistics, here.ahead, here.compressed);
  }
  here.reset_statistics();
  if (exiting) {
    end_with_status_if_failed();
  }
  return 0;
}

herr_t connector_at(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** found) {
  if (level == H5VL_GET_CONN_LVL_CURR) {
    *found = &connector_class();
    return 0;
  }
  const Object& self = object_of(object);
  return H5VLintrospect_get_conn_cls(self.under, self.connector, level, found);
}

herr_t query_optional(void* object, H5VL_subclass_t kind, int operation, std::uint64_t* flags) {
  const Object& self = object_of(object);
  return H5VLintrospect_opt_query(self.under, self.connector, kind, operation, flags);
}

herr_t put_blob(void* object, const void* data, size_t bytes, void* blob, void* context) {
  const Object& self = object_of(object);
  return H5VLblob_put(self.under, self.connector, data, bytes, blob, context);
}

herr_t get_blob(void* object, const void* blob, void* data, size_t bytes, void* context) {
  const Object& self = object_of(object);
  return H5VLblob_get(self.under, self.connector, blob, data, bytes, context);
}

herr_t specific_of_blob(void* object, void* blob, H5VL_blob_specific_args_t* arguments) {
  const Object& self = object_of(object);
  return H5VLblob_specific(self.under, self.connector, blob, arguments);
}

herr_t optional_of_blob(void* object, void* blob, H5VL_optional_args_t* arguments) {
  const Object& self = object_of(object);
  return H5VLblob_optional(self.under, self.connector, blob, arguments);
}

herr_t compare_tokens(void* object, const H5O_token_t* first, const H5O_token_t* second, int* order) {
  const Object& self = object_of(object);
  return H5VLtoken_cmp(self.under, self.connector, first, second, order);
}

herr_t token_to_text(void* object, H5I_type_t type, const H5O_token_t* token, char** text) {
  const Object& self = object_of(object);
  return H5VLtoken_to_str(self.under, type, self.connector, token, text);
}

herr_t token_from_text(void* object, H5I_type_t type, const char* text, H5O_token_t* token) {
  const Object& self = object_of(object);
  return H5VLtoken_from_str(self.under, type, self.connector, text, token);
}

H5VL_class_t make_class() {
  H5VL_class_t made{};
  made.version = H5VL_VERSION;
  made.value = connector_value;
  made.name = connector_name;
  made.conn_version = 1;
  made.cap_flags = H5VL_CAP_FLAG_ASYNC;
  made.initialize = guarded<initialize>;
  made.terminate = guarded<terminate>;
  made.info_cls = information_class();
  made.wrap_cls = wrap_class();
  made.attr_cls = attribute_class();
  made.dataset_cls = dataset_class();
  made.datatype_cls = datatype_class();
  made.file_cls = file_class();
  made.group_cls = group_class();
  made.link_cls = link_class();
  made.object_cls = object_class();
  made.introspect_cls = {.get_conn_cls = connector_at, .get_cap_flags = capabilities, .opt_query = query_optional};
  made.request_cls = request_class();
  made.blob_cls = {.put = put_blob, .get = get_blob, .specific = specific_of_blob, .optional = optional_of_blob};
  made.token_cls = {.cmp = compare_tokens, .to_str = token_to_text, .from_str = token_from_text};
  made.optional = passed<"optional operation", H5VLoptional>;
  return made;
}

}  // namespace

const H5VL_class_t& connector_class() {
  static const H5VL_class_t made = make_class();
  return made;
}

}  // namespace dovetail::hdf5
