#include "held.hpp"

#include <atomic>
#include <vector>

#include "base/mutex.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

struct Deferred {
  base::Mutex mutex;
  std::atomic<bool> any{false};
  std::vector<PyObject*> objects GUARDED_BY(mutex);
};

Deferred& deferred() {
  static auto* const instance = new Deferred;
  return *instance;
}

// A result may be a future whose result is a future, and so on: dropping the first drops them all, one inside of the other.
// From this depth on they wait, and the innermost drop that does not wait drops them one after the other.
constexpr unsigned deepest = 50;

struct Nesting {
  unsigned depth = 0;
  std::vector<PyObject*> waiting;
};

// Not inlined, so that no address of it is kept across a pause, which the destructor of an object may contain.
[[gnu::noinline]] Nesting& nesting() {
  thread_local Nesting instance;
  return instance;
}

void drop_now(PyObject* object) {
  Nesting& mine = nesting();
  if (mine.depth == deepest) {
    mine.waiting.push_back(object);
    return;
  }
  ++mine.depth;
  Py_DECREF(object);
  while (nesting().depth == deepest && !nesting().waiting.empty()) {
    PyObject* const next = nesting().waiting.back();
    nesting().waiting.pop_back();
    Py_DECREF(next);
  }
  --nesting().depth;
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
    drop_now(object);
    return;
  }
  Deferred& all = deferred();
  const base::LockGuard lock(all.mutex);
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
    const base::LockGuard lock(all.mutex);
    objects.swap(all.objects);
    all.any.store(false, std::memory_order_relaxed);
  }
  for (PyObject* object : objects) {
    Py_DECREF(object);
  }
}

}  // namespace dovetail::python
