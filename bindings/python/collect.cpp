#include "collect.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "containers.hpp"
#include "failure.hpp"
#include "file.hpp"
#include "file_name.hpp"
#include "future.hpp"
#include "memory.hpp"
#include "space.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// Spaces of things that have no bytes of their own. Numbers of files are spread over all 2^64; one that met these would order tasks
// needlessly, never wrongly.
constexpr std::uint64_t object_space = ~std::uint64_t{0};
constexpr std::uint64_t future_space = ~std::uint64_t{1};

// Containers that are not to be looked into again. Most calls have few.
class Visited {
 public:
  /// Whether it is new.
  bool add(std::uintptr_t container) {
    auto* const end = few_.begin() + count_;
    if (std::find(few_.begin(), end, container) != end) {
      return false;
    }
    if (count_ < few_.size()) {
      few_[count_++] = container;
      return true;
    }
    return many_.insert(container).second;
  }

 private:
  std::array<std::uintptr_t, 16> few_{};
  std::size_t count_ = 0;
  std::unordered_set<std::uintptr_t> many_;
};

// Arguments may be nested as deep as the heap allows, and in themselves, so that this neither recurses nor goes anywhere twice.
struct Collector {
  const detail::Task* domain;
  const char* name;
  Uses& uses;

  // A container that is being looked into. Lists and tuples are read where they are.
  struct Level {
    Held container;
    Direction direction;
    bool in_place;
    std::size_t next = 0;
    std::vector<Held> items;
  };
  std::vector<Level> levels{};
  Visited visited{};

  void collect(PyObject* object, Direction direction);
  void collect_one(PyObject* object, Direction direction, bool outermost);
  void collect_future(PyObject* object, AccessMode mode);
  void collect_file_name(PyObject* object, Direction direction);
  bool add_region(PyObject* object, AccessMode mode);
  void add_file_name(PyObject* object, AccessMode mode);
  void enter(PyObject* container, ContainerKind kind, Direction direction);
};

bool names_file(Direction direction) noexcept {
  return direction == Direction::file_in || direction == Direction::file_out || direction == Direction::file_inout ||
         direction == Direction::file_commutative;
}

AccessMode mode_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::out:
    case Direction::file_out:
      return AccessMode::out;
    case Direction::inout:
    case Direction::file_inout:
      return AccessMode::inout;
    case Direction::commutative:
    case Direction::file_commutative:
      return AccessMode::commutative;
    default:
      return AccessMode::in;
  }
}

// Whether an object cannot change, and contains nothing that can.
bool is_constant(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  return object == Py_None || type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
         type == &PyBool_Type || type == &PyBytes_Type || type == &PyComplex_Type || type == &PyFunction_Type ||
         type == &PyModule_Type || type == &PyCFunction_Type || type == &PyRange_Type || type == &PySlice_Type ||
         object == Py_Ellipsis || PyType_Check(object);
}

void Collector::collect_future(PyObject* object, AccessMode mode) {
  const Future& future = future_of(object);
  uses.futures = true;
  const CallReference& call = future.call();
  if (call->domain != domain) {
    if (!future.ready()) {
      uses.elsewhere.push_back(future);
    }
    return;
  }
  // A call that has completed well needs no order; a failure has to be passed on.
  if (mode == AccessMode::in && future.ready() && call->result && !call->changed) {
    return;
  }
  if (mode != AccessMode::in) {
    call->changed = true;
  }
  uses.accesses.push_back({{future_space, call->token, 1}, mode});
}

void Collector::collect_file_name(PyObject* object, Direction direction) {
  if (PyList_Check(object) || PyTuple_Check(object)) {
    enter(object, ContainerKind::list, direction);
    return;
  }
  if (is_future(object)) {
    collect_future(object, AccessMode::in);  // its name is not known yet
    return;
  }
  add_file_name(object, mode_of(direction));
}

// Whether the object stands for a file, a region of a space or memory.
bool Collector::add_region(PyObject* object, AccessMode mode) {
  if (is_file_name(object)) {
    add_file_name(object, mode);
    return true;
  }
  const bool is_file = Py_TYPE(object) == file_type() && nb::inst_ready(object);
  Region region = is_file ? nb::inst_ptr<OpenedFile>(object)->region() : Region();
  if (is_file || space_region(object, region)) {
    uses.accesses.push_back({region, mode});
    return true;
  }
  return add_memory(object, mode, name, uses.accesses);
}

void Collector::add_file_name(PyObject* object, AccessMode mode) {
  std::string path;
  uses.accesses.push_back({file_name_region(object, name, path), mode});
  if (mode != AccessMode::in) {
    uses.outputs.push_back(std::move(path));
  }
}

void Collector::enter(PyObject* container, ContainerKind kind, Direction direction) {
  const std::uintptr_t unordered = direction == Direction::unordered ? 1 : 0;
  if (!visited.add(reinterpret_cast<std::uintptr_t>(container) | unordered)) {
    return;
  }
  if (levels.empty()) {
    levels.reserve(4);
  }
  const bool in_place = PyList_Check(container) || PyTuple_Check(container);
  levels.push_back({.container = Held::share(container), .direction = direction, .in_place = in_place, .items = {}});
  if (!in_place) {
    levels.back().items = items_of(container, kind);
  }
}

void Collector::collect(PyObject* object, Direction direction) {
  collect_one(object, direction, true);
  while (!levels.empty()) {
    Level& level = levels.back();
    PyObject* const container = level.container.get();
    const std::size_t size = level.in_place ? static_cast<std::size_t>(Py_SIZE(container)) : level.items.size();
    if (level.next == size || level.next > size) {
      levels.pop_back();
      continue;
    }
    const std::size_t place = level.next++;
    const Direction directed = level.direction;
    PyObject* const item =
        level.in_place ? PySequence_Fast_GET_ITEM(container, static_cast<Py_ssize_t>(place)) : level.items[place].get();
    if (!is_constant(item) || names_file(directed)) {
      const Held kept = Held::share(item);
      collect_one(item, directed, false);
    }
  }
}

void Collector::collect_one(PyObject* object, Direction direction, bool outermost) {
  if (names_file(direction)) {
    if (object != Py_None) {
      collect_file_name(object, direction);
    }
    return;
  }
  if (is_constant(object)) {
    if (direction != Direction::in && direction != Direction::unordered && outermost && object != Py_None) {
      throw nb::type_error((std::string("argument '") + name +
                            "' is declared as written by the task, but a value of type '" + Py_TYPE(object)->tp_name +
                            "' cannot be changed in place; return the new value instead")
                               .c_str());
    }
    return;
  }
  const AccessMode mode = mode_of(direction);
  if (is_future(object)) {
    collect_future(object, mode);
    return;
  }
  const bool unordered = direction == Direction::unordered;
  const ContainerKind kind = container_kind(object);
  if (kind != ContainerKind::none) {
    // The attributes of an object order nothing, but futures in the fields of a dataclass, or in a closed container, are waited for.
    const bool orders = kind != ContainerKind::dataclass && kind != ContainerKind::closed;
    enter(object, kind, orders ? direction : Direction::unordered);
    if (kind == ContainerKind::tuple || PyFrozenSet_Check(object)) {
      return;
    }
  }
  const bool may_be_memory = kind == ContainerKind::none || kind == ContainerKind::closed;
  if (may_be_memory && (unordered || add_region(object, mode))) {
    return;
  }
  if (!unordered) {
    uses.accesses.push_back({{object_space, reinterpret_cast<std::uint64_t>(object), 1}, mode});
  }
}

}  // namespace

Access result_access(const Call& call) noexcept { return {{future_space, call.token, 1}, AccessMode::out}; }

void collect(PyObject* object, Direction direction, const detail::Task* domain, const char* name, Uses& uses) {
  Collector{.domain = domain, .name = name, .uses = uses}.collect(object, direction);
}

void collect_arguments(const Signature& signature, PyObject* arguments, PyObject* keywords, const detail::Task* domain,
                       Uses& uses) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    const auto index = static_cast<std::size_t>(i);
    PyObject* const object = PyTuple_GET_ITEM(arguments, i);
    if (index < signature.positional.size()) {
      const Parameter& parameter = signature.positional[index];
      collect(object, parameter.direction, domain, parameter.name.c_str(), uses);
    } else {
      collect(object, signature.rest, domain, "*args", uses);
    }
  }
  if (keywords == nullptr) {
    return;
  }
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t place = 0;
  while (PyDict_Next(keywords, &place, &key, &value) != 0) {
    const char* const name = PyUnicode_AsUTF8(key);
    if (name == nullptr) {
      throw nb::python_error();
    }
    const auto found = signature.named.find(name);
    collect(value, found == signature.named.end() ? signature.others : found->second, domain, name, uses);
  }
}

}  // namespace dovetail::python
