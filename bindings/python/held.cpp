#include "held.hpp"

#include <atomic>
#include <mutex>
#include <vector>

#include "thread_state.hpp"

namespace dovetail::python {
namespace {

struct Deferred {
  std::mutex mutex;
  std::atomic<bool> any{false};
  std::vector<PyObject*> objects;
};

Deferred& deferred() {
  static auto* const instance = new Deferred;
  return *instance;
}

}  // namespace

void drop(PyObject* object) noexcept {
  if (object == nullptr) {
    return;
  }
  if (Py_IsInitialized() == 0) {
    return;  // the interpreter is gone, and with it the object
  }
  if (holds_interpreter()) {
    Py_DECREF(object);
    return;
  }
  Deferred& all = deferred();
  std::lock_guard lock(all.mutex);
  all.objects.push_back(object);
  all.any.store(true, std::memory_order_relaxed);
}

void drop_deferred() noexcept {
  Deferred& all = deferred();
  if (!all.any.load(std::memory_order_relaxed)) {
    return;
  }
  std::vector<PyObject*> objects;
  {
    std::lock_guard lock(all.mutex);
    objects.swap(all.objects);
    all.any.store(false, std::memory_order_relaxed);
  }
  for (PyObject* object : objects) {
    Py_DECREF(object);
  }
}

}  // namespace dovetail::python
