#include "exit_status.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <nanobind/nanobind.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// CPython does not say why it ends. `sys.exit` and `SystemExit` end the process from within, by `Py_Exit`; a program that
// comes to its end returns from `Py_RunMain`. Under `python -m` both return, which the package finds out by itself.
bool is_ended_by_sys_exit() {
  std::array<void*, 256> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    Dl_info info{};
    if (::dladdr(frames.at(static_cast<std::size_t>(i)), &info) != 0 && info.dli_sname != nullptr &&
        std::string_view(info.dli_sname) == "Py_Exit") {
      return true;
    }
  }
  return false;
}

// Called by `exit`, which goes on with the other handlers under the new status: the same thread calls it again, which glibc allows.
void replace_status(int status, void* /*unused*/) {
  if (status == EXIT_SUCCESS) {
    std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe)
  }
}

void end_as_failed() {
  static bool called = false;
  if (!called && !is_ended_by_sys_exit()) {
    called = true;
    ::on_exit(&replace_status, nullptr);
  }
}

}  // namespace

void bind_exit_status(nb::module_& module) {
  module.def("end_as_failed", &end_as_failed,
             "While the interpreter ends: has the process end with status 1 if it would with 0, unless the program "
             "called sys.exit.");
}

}  // namespace dovetail::python
