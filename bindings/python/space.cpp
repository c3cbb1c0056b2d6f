#include "space.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "dovetail/space.hpp"
#include "failure.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

PyTypeObject* type_of_spaces = nullptr;
PyTypeObject* type_of_parts = nullptr;

constexpr std::int64_t end_of_spaces = INT64_MAX;

// Keeps its space, and thereby the name.
struct Part {
  Space space;
  std::int64_t begin = 0;
  std::int64_t end = end_of_spaces;

  Region region() const {
    return {space.number(), static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin)};
  }
  std::string text() const {
    return "Space('" + space.name() + "')[" + std::to_string(begin) + ":" + std::to_string(end) + "]";
  }
};

std::int64_t bound(PyObject* index, std::int64_t otherwise) {
  if (index == Py_None) {
    return otherwise;
  }
  const long long value = PyLong_AsLongLong(index);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    throw nb::python_error();
  }
  return value;
}

// `space[3]`, `space[0:8]`, `space[8:]`. There is no end to count back from.
Part part_of(const Space& space, nb::handle key) {
  Part part{.space = space};
  if (PySlice_Check(key.ptr())) {
    const auto* const slice = reinterpret_cast<PySliceObject*>(key.ptr());
    if (slice->step != Py_None) {
      throw nb::value_error("a region of a space has no step");
    }
    part.begin = bound(slice->start, 0);
    part.end = bound(slice->stop, end_of_spaces);
  } else {
    part.begin = bound(key.ptr(), 0);
    part.end = part.begin == end_of_spaces ? part.begin : part.begin + 1;
  }
  if (part.begin < 0 || part.end < part.begin) {
    throw nb::value_error(
        ("a space has no region from " + std::to_string(part.begin) + " to " + std::to_string(part.end)).c_str());
  }
  return part;
}

}  // namespace

bool space_region(PyObject* object, Region& region) noexcept {
  // One that `__new__` alone has made holds nothing.
  if (Py_TYPE(object) == type_of_spaces && nb::inst_ready(object)) {
    region = Part{.space = *nb::inst_ptr<Space>(object)}.region();
    return true;
  }
  if (Py_TYPE(object) == type_of_parts && nb::inst_ready(object)) {
    region = nb::inst_ptr<Part>(object)->region();
    return true;
  }
  return false;
}

void bind_space(nb::module_& module) {
  nb::class_<Part> part(module, "SpaceRegion", nb::is_final(), "A region of a space, as an argument of tasks.");
  part.def("__repr__", &Part::text);
  nb::class_<Space> space(module, "Space", nb::is_final(), "Regions of something that is neither memory nor a file.");
  space
      .def(
          "__init__", [](Space* self, const std::string& name) { new (self) Space(Space::make(name)); },
          nb::arg("name"))
      .def_prop_ro("name", &Space::name, "Shown in reports and traces.")
      .def("__getitem__", &part_of, nb::arg("key"), "A region: space[begin:end], or space[place].")
      .def("__repr__", [](const Space& self) { return "Space('" + self.name() + "')"; });
  type_of_spaces = reinterpret_cast<PyTypeObject*>(space.ptr());
  type_of_parts = reinterpret_cast<PyTypeObject*>(part.ptr());
}

}  // namespace dovetail::python
