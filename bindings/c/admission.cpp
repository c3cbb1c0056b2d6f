// Devices, and what admission did. Spawning is in task.cpp.
#include "dovetail/admission.hpp"

#include <algorithm>

#include "argument.hpp"
#include "dovetail/dovetail_admission.h"
#include "error.hpp"

using dovetail::c::given;
using dovetail::c::guarded;

extern "C" {

int32_t dovetail_storage_device_find(const char* name_or_path, const char* config, int32_t measure,
                                     dovetail_storage_device* device) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::c::check_size(given(device, "device"), "device");
    const dovetail::StorageDevice found = dovetail::storage_device(name_or_path != nullptr ? name_or_path : "",
                                                                   config != nullptr ? config : "", measure != 0);
    dovetail::c::fill_in(device,
                         {.size = 0,
                          .read_mb_per_second = found.read_mb_per_second,
                          .write_mb_per_second = found.write_mb_per_second,
                          .shared = found.shared ? 1 : 0,
                          .configured = found.configured ? 1 : 0},
                         "device");
    return 0;
  });
}

int64_t dovetail_admission_report(char* buffer, size_t capacity) {
  return guarded(__func__, [&]() -> int64_t {
    const std::string report = dovetail::admission_report();
    if (capacity > 0) {
      const std::size_t copied = std::min(report.size(), capacity - 1);
      std::copy_n(report.data(), copied, &given(buffer, "buffer"));
      buffer[copied] = '\0';
    }
    return static_cast<int64_t>(report.size());
  });
}

}  // extern "C"
