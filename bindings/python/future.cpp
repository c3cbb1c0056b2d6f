#include "future.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

#include "failure.hpp"
#include "thread_state.hpp"

namespace dovetail::python {

// Tells an event loop, which has no thread to spare for waiting.
bool Future::notify(int descriptor) const {
  std::function<void()> tell = [descriptor] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof(one));
  };
  return detail::call_when_completed(task_, tell);
}

void Future::finish() const {
  if (!ready()) {
    const Unlocked unlocked;
    detail::take_task(task_);
    return;
  }
  detail::take_task(task_);
}

bool Future::finish_quietly(std::chrono::nanoseconds at_most) const {
  if (ready()) {
    return true;
  }
  const Unlocked unlocked;
  if (at_most != std::chrono::nanoseconds::max()) {
    return wait_for(at_most);
  }
  wait();
  return true;
}

Held Future::value() const {
  if (!key_) {
    return Held::share(call_->result.get());
  }
  Held item = Held::adopt(PyObject_GetItem(call_->result.get(), key_.get()));
  if (!item) {
    throw_python_error();
  }
  return item;
}

PyTypeObject* future_type() noexcept {
  static auto* const type = reinterpret_cast<PyTypeObject*>(nanobind::type<Future>().ptr());
  return type;
}

}  // namespace dovetail::python
