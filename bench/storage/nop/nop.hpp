// The problem: requests that do nothing, `depth` of them under way at any time. What is left is what a request costs.
#pragma once

#include <cstdint>

#include "harness/harness.hpp"

namespace bench {

struct NopProblem {
  const std::int64_t& requests;
  const std::int64_t& depth;
};

inline NopProblem declare_nop(CommandLine& line) {
  return {line.size("requests", 2'000'000, "requests of all together"),
          line.size("depth", 64, "requests under way at any time")};
}

}  // namespace bench
