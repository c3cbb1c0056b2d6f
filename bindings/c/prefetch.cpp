// Reading ahead.
#include "dovetail/prefetch.hpp"

#include <string>
#include <vector>

#include "argument.hpp"
#include "error.hpp"

using namespace dovetail::c;

extern "C" {

int32_t dovetail_file_prefetch(const dovetail_file* file, const dovetail_range* ranges, size_t count) {
  return guarded(__func__, [&]() -> int32_t {
    given(file, "file");
    std::vector<dovetail::FileRange> translated;
    if (count != 0) {
      given(ranges, "ranges");
      translated.reserve(count);
    }
    for (size_t i = 0; i < count; ++i) {
      const std::string name = "ranges[" + std::to_string(i) + "]";
      translated.push_back({natural(ranges[i].offset, (name + ".offset").c_str()),
                            natural(ranges[i].length, (name + ".length").c_str())});
    }
    dovetail::prefetch(file->file, translated);
    return 0;
  });
}

}  // extern "C"
