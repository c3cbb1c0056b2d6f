#include "file_name.hpp"

#include <nanobind/nanobind.h>

#include <filesystem>
#include <string>
#include <unordered_map>

#include "call.hpp"
#include "held.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

constexpr std::uint64_t path_space = ~std::uint64_t{2};

PyTypeObject* file_name_class = nullptr;

// Under the interpreter's lock.
std::unordered_map<std::string, std::uint64_t>& tokens() {
  static auto* const instance = new std::unordered_map<std::string, std::uint64_t>;
  return *instance;
}

// Called with the interpreter's error set. The object is no path, no file can have its path (a zero byte, no bytes for a character), or its
// own method failed.
[[noreturn]] void refuse(PyObject* object, const char* name) {
  const std::string argument = std::string("argument '") + name + "' is declared as a file and ";
  nb::python_error error;
  if (error.matches(PyExc_TypeError)) {
    throw nb::type_error((argument + "must be a path, not a value of type '" + Py_TYPE(object)->tp_name + "'").c_str());
  }
  if (error.matches(PyExc_ValueError)) {
    const std::string why = nb::str(error.value()).c_str();
    const std::string path = nb::repr(nb::handle(object)).c_str();
    throw nb::value_error((argument + path + " can be the path of none: " + why).c_str());
  }
  throw error;
}

}  // namespace

bool is_file_name(PyObject* object) noexcept {
  return file_name_class != nullptr && PyObject_TypeCheck(object, file_name_class) != 0;
}

Region file_name_region(PyObject* object, const char* name, std::string& path) {
  PyObject* converted = nullptr;
  if (PyUnicode_FSConverter(object, &converted) == 0) {
    refuse(object, name);
  }
  const Held bytes = Held::adopt(converted);
  path.assign(PyBytes_AS_STRING(converted), static_cast<std::size_t>(PyBytes_GET_SIZE(converted)));
  // Absolute first: a relative name of a file that does not exist yet would stay relative, and be another one once it does.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, error);
  if (error) {
    resolved = absolute.lexically_normal();
  }
  const auto [place, added] = tokens().try_emplace(resolved.native(), 0);
  if (added) {
    place->second = new_token();
  }
  return {path_space, place->second, 1};
}

void bind_file_name(nb::module_& module) {
  module.def(
      "set_file_class",
      [](nb::object file_class) { file_name_class = reinterpret_cast<PyTypeObject*>(file_class.release().ptr()); },
      nb::arg("file_class"), "Which class names files among the arguments of tasks.");
}

}  // namespace dovetail::python
