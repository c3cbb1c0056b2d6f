#include "resolve.hpp"

#include <nanobind/nanobind.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "containers.hpp"
#include "failure.hpp"
#include "future.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// A future or container whose items are being resolved.
struct Level {
  Held object;
  ContainerKind kind = ContainerKind::none;  ///< None: a future, whose value is the one item.
  std::vector<Held> before;
  std::vector<Held> items;  ///< What stands for those of `before`, as far as that is known.
  bool in_itself = false;   ///< Found again below itself.
};

// What has become of a future or container. It is kept alive, so that no other object gets its address.
struct Seen {
  Held object;
  Held result;            ///< None as long as it is on the way.
  std::size_t level = 0;  ///< Then it is there.
};

bool has_items(PyObject* object) { return is_future(object) || container_kind(object) != ContainerKind::none; }

// Whether none of the items is a future or a container: that is so for most, and seen without a copy of the list.
bool is_flat(PyObject* object) {
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (has_items(PySequence_Fast_GET_ITEM(object, i))) {
      return false;
    }
  }
  return true;
}

// Values may be nested as deep as the heap allows, and in themselves, so that this neither recurses nor goes anywhere twice.
class Resolver {
 public:
  explicit Resolver(const Deadline& deadline) : deadline_(deadline) {}
  Held resolve(PyObject* object) {
    Held result = enter(object);
    while (!result && !levels_.empty()) {
      Level& level = levels_.back();
      if (level.items.size() < level.before.size()) {
        Held item = enter(level.before[level.items.size()].get());
        if (item) {
          levels_.back().items.push_back(std::move(item));
        }
        continue;
      }
      Held done = leave(level);
      levels_.pop_back();
      if (levels_.empty()) {
        result = std::move(done);
      } else {
        levels_.back().items.push_back(std::move(done));
      }
    }
    return result;
  }

 private:
  // What stands for the object, or nothing if there is now a level for it.
  Held enter(PyObject* object) {
    const bool future = is_future(object);
    const ContainerKind kind = future ? ContainerKind::none : container_kind(object);
    if (!future && (kind == ContainerKind::none || is_flat(object))) {
      return Held::share(object);
    }
    if (const auto seen = seen_.find(object); seen != seen_.end()) {
      return again(seen->second, object);
    }
    Level level{.object = Held::share(object), .kind = kind, .before = {}, .items = {}};
    if (future) {
      const Future& task = future_of(object);
      task.finish(deadline_);
      Held value = task.value();
      if (!has_items(value.get())) {
        return value;
      }
      level.before.push_back(std::move(value));  // a task may return the future of another one
    } else {
      level.before = items_of(object, kind);
    }
    seen_[object] = {.object = Held::share(object), .result = Held(), .level = levels_.size()};
    levels_.push_back(std::move(level));
    return {};
  }

  Held again(const Seen& seen, PyObject* object) {
    if (seen.result) {
      return Held::share(seen.result.get());
    }
    if (is_future(object)) {
      const Future& task = future_of(object);
      PyErr_Format(PyExc_ValueError,
                   "the result of task '%s' contains the future of that result, so that it has no value",
                   task.call()->signature->label.c_str());
      throw_python_error();
    }
    // Right if nothing in it has to be replaced, which is known when all of it has been seen.
    levels_[seen.level].in_itself = true;
    return Held::share(object);
  }

  Held leave(Level& level) {
    Held result;
    if (level.kind == ContainerKind::none) {
      result = std::move(level.items.front());
    } else if (!changed(level)) {
      result = Held::share(level.object.get());
    } else if (level.in_itself) {
      PyErr_Format(PyExc_ValueError, "a '%s' contains itself and a future, whose value cannot be put in its place",
                   Py_TYPE(level.object.get())->tp_name);
      throw_python_error();
    } else {
      result = like(level.object.get(), level.kind, level.before, level.items);
    }
    seen_[level.object.get()].result = Held::share(result.get());
    return result;
  }

  static bool changed(const Level& level) {
    for (std::size_t i = 0; i < level.items.size(); ++i) {
      if (level.items[i].get() != level.before[i].get()) {
        return true;
      }
    }
    return false;
  }

  const Deadline deadline_;
  std::vector<Level> levels_;
  std::unordered_map<PyObject*, Seen> seen_;
};

}  // namespace

Held resolve(PyObject* object, const Deadline& deadline) { return Resolver(deadline).resolve(object); }

}  // namespace dovetail::python
