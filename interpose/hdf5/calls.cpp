// The functions of <dovetail/hdf5.h>.
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <hdf5.h>

#include <string>

#include "call.hpp"
#include "connector.hpp"
#include "dovetail/hdf5.h"
#include "driver.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "promise.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {

int refuse(const char* function, const std::string& text) {
  push_error(Kind::argument, function, text);
  return -1;
}

/// What `use` answers for the file of any object in it.
template <class Use>
int with_file(const char* function, hid_t object, Use use) {
  const hid_t file = H5Iget_file_id(object);
  if (file < 0) {
    return refuse(function, "this is no object of a file");
  }
  void* handle = nullptr;
  {
    const AskingForHandle asking;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0) {
      handle = nullptr;
    }
  }
  DriverFile* const deferred = handle != nullptr ? file_of_handle(handle) : nullptr;
  const int result =
      deferred != nullptr ? use(*deferred) : refuse(function, "the file was not opened through the connector");
  H5Fclose(file);
  return result;
}

int answer(const char* function, const std::string& failed) {
  if (!failed.empty()) {
    push_error(Kind::write, function, failed);
    return -1;
  }
  return 0;
}

int test(const char* function, hid_t object, int* completed) {
  if (completed == nullptr) {
    return refuse(function, "no place for the answer");
  }
  const WithoutWaiting asking;
  return with_file(function, object, [&](const DriverFile& file) {
    const Lock lock(services().stage.mutex);
    *completed = asking.all_made() && file.staged().settled() ? 1 : 0;
    return 0;
  });
}

int wait(const char* function, hid_t object) {
  return with_file(function, object, [&](DriverFile& file) { return answer(function, file.settle(Cause::request)); });
}

}  // namespace
}  // namespace dovetail::hdf5

using namespace dovetail::hdf5;

int dovetail_H5Pset_vol_async(dovetail_hid_t file_access) {
  const hid_t connector = H5VLregister_connector_by_name(connector_name, H5P_DEFAULT);
  if (connector < 0) {
    return -1;
  }
  void* information = nullptr;
  herr_t result = H5VLconnector_str_to_info("under_vol=0;under_info={}", connector, &information);
  if (result >= 0) {
    result = H5Pset_vol(file_access, connector, information);
    H5VLfree_connector_info(connector, information);
  }
  H5VLclose(connector);
  return result < 0 ? -1 : 0;
}

int dovetail_H5Pset_dxpl_async_cp_limit(dovetail_hid_t transfer, uint64_t bytes) {
  if (H5Pexist(transfer, copy_limit_property) > 0) {
    return H5Pset(transfer, copy_limit_property, &bytes) < 0 ? -1 : 0;
  }
  return H5Pinsert2(transfer, copy_limit_property, sizeof bytes, &bytes, nullptr, nullptr, nullptr, nullptr, nullptr,
                    nullptr) < 0
             ? -1
             : 0;
}

int dovetail_H5Dtest(dovetail_hid_t dataset, int* completed) { return test("dovetail_H5Dtest", dataset, completed); }
int dovetail_H5Dwait(dovetail_hid_t dataset) { return wait("dovetail_H5Dwait", dataset); }
int dovetail_H5Ftest(dovetail_hid_t file, int* completed) { return test("dovetail_H5Ftest", file, completed); }
int dovetail_H5Fwait(dovetail_hid_t file) { return wait("dovetail_H5Fwait", file); }

int dovetail_H5Fstate(dovetail_hid_t file, int* reusable, int* durable) {
  const WithoutWaiting asking;
  return with_file("dovetail_H5Fstate", file, [&](const DriverFile& deferred) {
    if (reusable != nullptr) {
      *reusable = deferred.staged().memory_reusable() ? 1 : 0;
    }
    if (durable != nullptr) {
      *durable = asking.all_made() && deferred.staged().durable() ? 1 : 0;
    }
    return 0;
  });
}

int dovetail_H5Fset_flush_background(dovetail_hid_t file, int background) {
  return with_file("dovetail_H5Fset_flush_background", file, [&](DriverFile& deferred) {
    deferred.flush_waits(background == 0);
    return 0;
  });
}

int dovetail_H5Fsync(dovetail_hid_t file) {
  return with_file("dovetail_H5Fsync", file,
                   [](DriverFile& deferred) { return answer("dovetail_H5Fsync", deferred.make_durable()); });
}
