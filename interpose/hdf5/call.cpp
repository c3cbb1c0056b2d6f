#include "call.hpp"

#include <H5VLconnector_passthru.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "driver.hpp"
#include "errors.hpp"
#include "postponed.hpp"
#include "request.hpp"
#include "services.hpp"
#include "tasking/pause.hpp"

namespace dovetail::hdf5 {
namespace {

thread_local WithoutWaiting* without_waiting = nullptr;

// The task that calls completes no earlier than its transfers, and fails if one of them does.
void bind_task_to(const std::shared_ptr<Transfers>& transfers) {
  const Lock lock(services().stage.mutex);
  if (transfers->outstanding == 0) {
    return;
  }
  detail::Task* const task = tasking::bind_event();
  transfers->when_done.emplace_back([task, transfers] {
    std::string error;
    {
      const Lock locked(services().stage.mutex);
      error = transfers->error;
    }
    tasking::fulfill_event(task, error.empty() ? nullptr : std::make_exception_ptr(std::runtime_error(error)));
  });
}

}  // namespace

WithoutWaiting::WithoutWaiting() noexcept { without_waiting = this; }
WithoutWaiting::~WithoutWaiting() { without_waiting = nullptr; }

void make_postponed() noexcept { Postponed::instance().make_all(); }

Call::Call(const char* name, const Object* object, const char* child, hid_t connector, void** request, Order order)
    : operation_{.call = name,
                 .object = object != nullptr ? object->name : nullptr,
                 .child = child,
                 .asynchronous = request != nullptr,
                 .bound = request == nullptr && tasking::current_task() != nullptr,
                 .postponed = false,
                 .promises = {},
                 .transfers = nullptr},
      within_(operation_),
      connector_(connector),
      wanted_(request) {
  if (order == Order::any) {
    return;
  }
  if (without_waiting != nullptr) {
    without_waiting->note(Postponed::instance().make_within(0));
  } else {
    Postponed::instance().make_all();
  }
}

Call::~Call() {
  if (wanted_ != nullptr && (under_request_ != nullptr || operation_.transfers != nullptr)) {
    *wanted_ = new_request(std::move(operation_.transfers), under_request_, connector_);
  } else if (operation_.bound && operation_.transfers != nullptr) {
    bind_task_to(operation_.transfers);
  }
}

void Call::give_up(bool failed) noexcept {
  if (!failed || wanted_ == nullptr) {
    return;
  }
  wanted_ = nullptr;
  if (operation_.transfers != nullptr) {
    Services& here = services();
    const Lock lock(here.stage.mutex);
    here.stage.wait(here.report.of(Cause::request),
                    [&]() REQUIRES(staging::stage_lock) { return operation_.transfers->outstanding == 0; });
  }
  if (under_request_ != nullptr) {
    const KeptErrors kept;
    H5VLrequest_free(under_request_, connector_);
  }
}

bool report_failure_of_closed(const char* call) noexcept {
  const std::string failed = take_failure_of_closed();
  if (failed.empty()) {
    return true;
  }
  hbool_t terminating = false;
  if (H5is_library_terminating(&terminating) >= 0 && terminating) {
    // The program would not see the error. When it was printed first, the object had perhaps no name.
    std::fprintf(stderr, "dovetail: %s\n", failed.c_str());
    return true;
  }
  push_error(Kind::write, call, failed);
  return false;
}

}  // namespace dovetail::hdf5
