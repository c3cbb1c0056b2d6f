// libgomp runs a task from where it waits for tasks (barrier, taskwait, taskgroup), and then heeds `detach`. Or it runs it from the function in
// which a thread waits for the dependences of a task that it must run at once. There it forgets `detach`: it completes and frees the task when
// the body returns. This file therefore finds the caller of the body on the stack.
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "libgomp.hpp"

namespace dovetail::omp::libgomp {
namespace {

struct Library {
  std::uintptr_t begin = 0;  ///< Of its code; both zero where OpenMP is not libgomp.
  std::uintptr_t end = 0;
  /// Functions that heed `detach` when they call a body.
  std::array<void*, 3> heeding{};
  /// Functions that wait for dependences by calling the one that does not.
  std::array<void*, 9> waiting{};

  bool contains(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
};

int take_code_range(dl_phdr_info* object, std::size_t /*size*/, void* argument) {
  Library& library = *static_cast<Library*>(argument);
  if (object->dlpi_name == nullptr || std::strstr(object->dlpi_name, "libgomp.so") == nullptr) {
    return 0;
  }
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      library.begin = object->dlpi_addr + segment.p_vaddr;
      library.end = library.begin + segment.p_memsz;
    }
  }
  return 1;
}

Library find() noexcept {
  Library library;
  dl_iterate_phdr(take_code_range, &library);
  // Loaded, but not the one whose tasks these are?
  if (!library.contains(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "omp_fulfill_event")))) {
    return {};
  }
  const auto look_up = [](auto& functions, auto names) {
    std::transform(names.begin(), names.end(), functions.begin(),
                   [](const char* name) { return dlsym(RTLD_DEFAULT, name); });
  };
  look_up(library.heeding, std::array{"GOMP_task", "GOMP_taskwait", "GOMP_taskgroup_end"});
  look_up(library.waiting, std::array{"GOMP_task", "GOMP_taskwait_depend", "GOMP_taskwait_depend_nowait", "GOMP_target",
                                      "GOMP_target_ext", "GOMP_target_data_ext", "GOMP_target_update",
                                      "GOMP_target_update_ext", "GOMP_target_enter_exit_data"});
  return library;
}

const Library& the_library() noexcept {
  static const Library library = find();
  return library;
}

struct Walk {
  const Library& library;
  bool inside = false;  ///< The function of libgomp that called the body has been passed.
  bool ignored = false;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context) - 1;
  const bool in_libgomp = walk.library.contains(address);
  if (!in_libgomp && !walk.inside) {
    return _URC_NO_REASON;
  }
  void* const function = in_libgomp ? _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(address)) : nullptr;
  const auto is_one_of = [function](const auto& functions) {
    return function != nullptr && std::find(functions.begin(), functions.end(), function) != functions.end();
  };
  if (!walk.inside) {
    if (is_one_of(walk.library.heeding)) {
      return _URC_END_OF_STACK;
    }
    walk.inside = true;
    return _URC_NO_REASON;
  }
  // A caller outside of libgomp: the entry function was left by a jump to the one that waits. The barrier has a caller inside.
  walk.ignored = !in_libgomp || is_one_of(walk.library.waiting);
  return _URC_END_OF_STACK;
}

}  // namespace

bool in_use() noexcept { return the_library().begin != the_library().end; }

bool detach_is_ignored_here() noexcept {
  Walk walk{the_library()};
  _Unwind_Backtrace(look_at_frame, &walk);
  return walk.ignored;
}

}  // namespace dovetail::omp::libgomp
