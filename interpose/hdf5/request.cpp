#include "request.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "errors.hpp"
#include "object.hpp"
#include "postponed.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {

// HDF5 asks for the context of a request as it does for that of an object. The object below may be null here.
struct RequestToken : Object {
  std::shared_ptr<Transfers> transfers;  // null: none
};

RequestToken& token_of(void* request) { return static_cast<RequestToken&>(handle_of(request)); }

H5VL_request_status_t status_of(const Transfers& transfers) REQUIRES(staging::stage_lock) {
  if (transfers.outstanding != 0) {
    return H5VL_REQUEST_STATUS_IN_PROGRESS;
  }
  return transfers.error.empty() ? H5VL_REQUEST_STATUS_SUCCEED : H5VL_REQUEST_STATUS_FAIL;
}

H5VL_request_status_t status_now(const Transfers& transfers) {
  const Lock lock(services().stage.mutex);
  return status_of(transfers);
}

std::uint64_t left_of(std::uint64_t nanoseconds, std::uint64_t begin) {
  return nanoseconds == H5ES_WAIT_FOREVER ? nanoseconds
                                          : nanoseconds - std::min(nanoseconds, base::nanoseconds() - begin);
}

herr_t wait(void* given, std::uint64_t nanoseconds, H5VL_request_status_t* status) {
  const RequestToken& request = token_of(given);
  *status = H5VL_REQUEST_STATUS_SUCCEED;
  std::uint64_t left = nanoseconds;
  if (request.transfers != nullptr) {
    const std::uint64_t begin = base::nanoseconds();
    Postponed::instance().make_within(nanoseconds);
    left = left_of(nanoseconds, begin);
  }
  if (request.under != nullptr) {
    const std::uint64_t begin = base::nanoseconds();
    if (H5VLrequest_wait(request.under, request.connector, left, status) < 0) {
      return -1;
    }
    left = left_of(left, begin);
  }
  if (request.transfers != nullptr && *status == H5VL_REQUEST_STATUS_SUCCEED) {
    staging::Stage& stage = services().stage;
    const Lock lock(stage.mutex);
    const Transfers& transfers = *request.transfers;
    stage.wait_for(left, services().report.of(Cause::request),
                   [&]() REQUIRES(staging::stage_lock) { return transfers.outstanding == 0; });
    *status = status_of(transfers);
  }
  return 0;
}

herr_t notify(void* given, H5VL_request_notify_t callback, void* context) {
  const RequestToken& request = token_of(given);
  if (request.transfers == nullptr) {
    return H5VLrequest_notify(request.under, request.connector, callback, context);
  }
  Postponed::instance().make_all();  // the program may wait for the callback without another call
  {
    const Lock lock(services().stage.mutex);
    if (request.transfers->outstanding != 0) {
      request.transfers->when_done.emplace_back(
          [callback, context, transfers = request.transfers] { callback(context, status_now(*transfers)); });
      return 0;
    }
  }
  return callback(context, status_now(*request.transfers));
}

// What HDF5 has noted about the file already counts on the bytes: they are written in any case.
herr_t cancel(void* given, H5VL_request_status_t* status) {
  const RequestToken& request = token_of(given);
  if (request.transfers == nullptr) {
    return H5VLrequest_cancel(request.under, request.connector, status);
  }
  const Lock lock(services().stage.mutex);
  *status = status_of(*request.transfers);
  if (*status == H5VL_REQUEST_STATUS_IN_PROGRESS) {
    *status = H5VL_REQUEST_STATUS_CANT_CANCEL;
  }
  return 0;
}

herr_t specific(void* given, H5VL_request_specific_args_t* arguments) {
  const RequestToken& request = token_of(given);
  if (request.transfers == nullptr) {
    return H5VLrequest_specific(request.under, request.connector, arguments);
  }
  std::string error;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  {
    const Lock lock(services().stage.mutex);
    error = request.transfers->error;
    begun = request.transfers->begun;
    ended = request.transfers->outstanding == 0 ? request.transfers->ended : base::nanoseconds();
  }
  switch (arguments->op_type) {
    case H5VL_REQUEST_GET_ERR_STACK: {
      const hid_t stack = H5Ecreate_stack();
      push_error(stack, Kind::write, "H5ESwait", error);
      arguments->args.get_err_stack.err_stack_id = stack;
      return stack >= 0 ? 0 : -1;
    }
    case H5VL_REQUEST_GET_EXEC_TIME:
      if (arguments->args.get_exec_time.exec_ts != nullptr) {
        *arguments->args.get_exec_time.exec_ts = begun;
      }
      if (arguments->args.get_exec_time.exec_time != nullptr) {
        *arguments->args.get_exec_time.exec_time = ended - begun;
      }
      return 0;
  }
  return -1;
}

herr_t optional(void* given, H5VL_optional_args_t* arguments) {
  const RequestToken& request = token_of(given);
  return request.under != nullptr ? H5VLrequest_optional(request.under, request.connector, arguments) : -1;
}

herr_t release(void* given) {
  const std::unique_ptr<RequestToken> request(&token_of(given));
  const herr_t result = request->under != nullptr ? H5VLrequest_free(request->under, request->connector) : 0;
  const KeptErrors kept;
  H5Idec_ref(request->connector);
  return result;
}

}  // namespace

void* new_request(std::shared_ptr<Transfers> transfers, void* under, hid_t connector) {
  H5Iinc_ref(connector);
  return static_cast<Object*>(new RequestToken{{under, connector, nullptr}, std::move(transfers)});
}

H5VL_request_class_t request_class() {
  return {.wait = guarded<wait>,
          .notify = guarded<notify>,
          .cancel = guarded<cancel>,
          .specific = guarded<specific>,
          .optional = guarded<optional>,
          .free = guarded<release>};
}

}  // namespace dovetail::hdf5
