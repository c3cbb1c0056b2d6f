#include "library_context.hpp"

#include <hdf5.h>

#include "process_library.hpp"

namespace dovetail::hdf5 {
namespace {

struct Functions {
  // 2.0
  herr_t (*open)(void**) = nullptr;
  herr_t (*close)(void*) = nullptr;
  // 1.14
  herr_t (*start)() = nullptr;
  herr_t (*finish)() = nullptr;
};

const Functions& functions() {
  static const Functions found = [] {
    Functions these;
    if (!find_in_library("H5VLopen_lib_context", these.open) ||
        !find_in_library("H5VLclose_lib_context", these.close)) {
      these.open = nullptr;
    }
    if (!find_in_library("H5VLstart_lib_state", these.start) ||
        !find_in_library("H5VLfinish_lib_state", these.finish)) {
      these.start = nullptr;
    }
    return these;
  }();
  return found;
}

}  // namespace

bool LibraryContext::available() noexcept { return functions().open != nullptr || functions().start != nullptr; }

LibraryContext::LibraryContext() noexcept {
  if (functions().open != nullptr) {
    open_ = functions().open(&context_) >= 0;
  } else if (functions().start != nullptr) {
    open_ = functions().start() >= 0;
  }
}

LibraryContext::~LibraryContext() {
  if (!open_) {
    return;
  }
  if (functions().open != nullptr) {
    functions().close(context_);
  } else {
    functions().finish();
  }
}

}  // namespace dovetail::hdf5
