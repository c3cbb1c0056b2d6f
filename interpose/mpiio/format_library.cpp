#include "format_library.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace dovetail::interpose::mpiio {
namespace {

// Between the library's own call and this one there may be tools, and within it a dozen of its own functions.
constexpr int most_frames = 64;

bool is_in_format_library(void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) {
    return false;
  }
  const std::string_view path = found.dli_fname;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libhdf5") || name.starts_with("libpnetcdf");
}

}  // namespace

bool is_called_by_format_library() {
  std::array<void*, most_frames> frames{};
  const int count = backtrace(frames.data(), most_frames);
  return std::ranges::any_of(std::span(frames).first(static_cast<std::size_t>(count)), is_in_format_library);
}

}  // namespace dovetail::interpose::mpiio
