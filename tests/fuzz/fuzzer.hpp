// The common part of all fuzzers here. One source makes two programs: one under libFuzzer (`make fuzz`), and one with
// `replay.cpp` for `make test`. That one repeats what was found before and runs a fixed number of changed inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::fuzz {

/// Inputs to start from, right ones and ones that once did harm. Large inputs are made here rather than kept as files.
std::vector<std::string> seeds();

/// Ends the process where something that must always hold does not.
inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "fuzzer: this does not hold: %s\n", what);
    std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
