#include "object.hpp"

#include <H5VLconnector_passthru.h>

#include <cstdio>
#include <utility>

#include "background.hpp"
#include "compression/postponed.hpp"
#include "driver.hpp"
#include "errors.hpp"
#include "request.hpp"

namespace dovetail::hdf5 {
namespace {
thread_local WithoutWaiting* without_waiting = nullptr;
}

WithoutWaiting::WithoutWaiting() noexcept { without_waiting = this; }
WithoutWaiting::~WithoutWaiting() { without_waiting = nullptr; }

void make_postponed() noexcept { Postponed::instance().settle(); }

Object* wrap(void* under, hid_t connector, std::string path) {
  if (under == nullptr) {
    return nullptr;
  }
  H5Iinc_ref(connector);
  return new Object{.under = under, .connector = connector, .name = std::make_shared<ObjectName>(std::move(path))};
}

Object* to_be_made(hid_t connector, std::string path) {
  H5Iinc_ref(connector);
  return new Object{.under = nullptr,
                    .connector = connector,
                    .name = std::make_shared<ObjectName>(std::move(path)),
                    .compression_known = true,
                    .to_be_made = true};
}

void unwrap(Object* object) noexcept {
  {
    const KeptErrors kept;
    H5Idec_ref(object->connector);
  }
  delete object;
}

Call::Call(const char* name, const Object* object, const char* child, hid_t connector, void** request, Order order)
    : operation_{.call = name,
                 .object = object != nullptr ? object->name : nullptr,
                 .child = child,
                 .asynchronous = request != nullptr,
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
    without_waiting->note(Postponed::instance().settle_within(0));
  } else {
    Postponed::instance().settle();
  }
}

Call::~Call() {
  if (wanted_ != nullptr && (under_request_ != nullptr || operation_.transfers != nullptr)) {
    *wanted_ = new_request(std::move(operation_.transfers), under_request_, connector_);
  }
}

void Call::give_up(bool failed) noexcept {
  if (!failed || wanted_ == nullptr) {
    return;
  }
  wanted_ = nullptr;
  if (operation_.transfers != nullptr) {
    Background& background = Background::instance();
    Lock lock(background.mutex);
    background.wait(lock, Cause::request, [&] { return operation_.transfers->outstanding == 0; });
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
    // Nobody would see it. When it was said first, the object had perhaps no name.
    std::fprintf(stderr, "dovetail: %s\n", failed.c_str());
    return true;
  }
  push_error(Kind::write, call, failed);
  return false;
}

}  // namespace dovetail::hdf5
