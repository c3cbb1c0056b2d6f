#include "future.hpp"

#include <nanobind/nanobind.h>

#include "failure.hpp"
#include "thread_state.hpp"

namespace dovetail::python {

void Future::finish() const {
  if (!ready()) {
    const Unlocked unlocked;
    detail::take_task(task_);
    return;
  }
  detail::take_task(task_);
}

void Future::finish_quietly() const {
  if (!ready()) {
    const Unlocked unlocked;
    wait();
  }
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
