// Files and groups.
#include <algorithm>

#include "call.hpp"
#include "connector.hpp"
#include "driver.hpp"
#include "driver_file.hpp"
#include "pass.hpp"
#include "postponed.hpp"
#include "query.hpp"
#include "services.hpp"
#include "whereabouts.hpp"

namespace dovetail::hdf5 {
namespace {

// Of a file of which HDF5 has just made an identifier.
Object* wrap_file(void* under, hid_t connector) {
  Object* const made = wrap(under, connector, "/");
  if (made != nullptr) {
    made->file = file_opened(*made);
  }
  return made;
}

void* create(const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer, void** request) {
  const UnderList under(access);
  Call call("H5Fcreate", nullptr, name, under.connector(), request);
  return wrap_file(call.ended(H5VLfile_create(name, flags, creation, under.list(), transfer, call.request())),
                   under.connector());
}

void* open(const char* name, unsigned flags, hid_t access, hid_t transfer, void** request) {
  const UnderList under(access);
  Call call("H5Fopen", nullptr, name, under.connector(), request);
  return wrap_file(call.ended(H5VLfile_open(name, flags, under.list(), transfer, call.request())), under.connector());
}

// From now on the last object that is closed closes the file, if it does not close here.
herr_t close(void* file, hid_t transfer, void** request) {
  {
    const Lock lock(services().stage.mutex);
    const auto known = std::ranges::find(services().files, object_of(file).file);
    if (known != services().files.end()) {
      (*known)->identifier_closes();
    }
  }
  return Passed<"H5Fclose", H5VLfile_close>::callback(file, transfer, request);
}

herr_t get(void* file, H5VL_file_get_args_t* arguments, hid_t transfer, void** request) {
  const herr_t result = Passed<"H5Fget", H5VLfile_get>::callback(file, arguments, transfer, request);
  if (result >= 0 && arguments->op_type == H5VL_FILE_GET_FAPL) {
    restore_posix_driver(arguments->args.get_fapl.fapl_id);
  }
  return result;
}

herr_t specific(void* file, H5VL_file_specific_args_t* arguments, hid_t transfer, void** request) {
  H5VL_file_specific_args_t changed = *arguments;
  switch (arguments->op_type) {
    case H5VL_FILE_IS_ACCESSIBLE: {
      const UnderList under(arguments->args.is_accessible.fapl_id);
      changed.args.is_accessible.fapl_id = under.list();
      Call call("H5Fis_accessible", nullptr, nullptr, under.connector(), request);
      return call.ended(H5VLfile_specific(nullptr, under.connector(), &changed, transfer, call.request()));
    }
    case H5VL_FILE_DELETE: {
      const UnderList under(arguments->args.del.fapl_id);
      changed.args.del.fapl_id = under.list();
      Call call("H5Fdelete", nullptr, nullptr, under.connector(), request);
      return call.ended(H5VLfile_specific(nullptr, under.connector(), &changed, transfer, call.request()));
    }
    case H5VL_FILE_IS_EQUAL:  // HDF5 gives the other file as the lowest connector knows it
      return Passed<"H5Fis_equal", H5VLfile_specific>::callback(file, arguments, transfer, request);
    case H5VL_FILE_FLUSH:
      return Passed<"H5Fflush", H5VLfile_specific>::callback(file, arguments, transfer, request);
    case H5VL_FILE_REOPEN: {
      const hid_t connector = object_of(file).connector;
      const herr_t result = Passed<"H5Freopen", H5VLfile_specific>::callback(file, arguments, transfer, request);
      if (result >= 0) {
        void*& reopened = *arguments->args.reopen.file;
        reopened = wrap_file(reopened, connector);
      }
      return result;
    }
  }
  return -1;
}

herr_t close_group(void* group, hid_t transfer, void** request) {
  return Postponed::instance().close(handle_of(group), H5I_GROUP, H5VLgroup_close)
             ? 0
             : Passed<"H5Gclose", H5VLgroup_close>::callback(group, transfer, request);
}

herr_t group_specific(void* group, H5VL_group_specific_args_t* arguments, hid_t transfer, void** request) {
  if (arguments->op_type != H5VL_GROUP_MOUNT) {
    return Passed<"H5Gspecific", H5VLgroup_specific>::callback(group, arguments, transfer, request);
  }
  H5VL_group_specific_args_t changed = *arguments;
  changed.args.mount.child_file = under_of(arguments->args.mount.child_file);
  return Passed<"H5Fmount", H5VLgroup_specific>::callback(group, &changed, transfer, request);
}

}  // namespace

H5VL_file_class_t file_class() {
  return {.create = guarded<create>,
          .open = guarded<open>,
          .get = guarded<get>,
          .specific = guarded<specific>,
          .optional = guarded<optional_of_file>,
          .close = guarded<close>};
}

H5VL_group_class_t group_class() {
  return {.create = passed<"H5Gcreate", H5VLgroup_create>,
          .open = passed<"H5Gopen", H5VLgroup_open>,
          .get = passed<"H5Gget", H5VLgroup_get>,
          .specific = guarded<group_specific>,
          .optional = passed<"group operation", H5VLgroup_optional>,
          .close = guarded<close_group>};
}

}  // namespace dovetail::hdf5
