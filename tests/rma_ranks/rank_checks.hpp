// What programs of several ranks check, and the runtime that they check it with.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "dovetail/dovetail.hpp"

namespace dovetail::rma::test {

/// So many expectations did not hold in this process. Its exit status is 1 then.
inline int failures = 0;

/// `detail` says where.
inline void expect(bool holds, const char* what, int rank, std::uint64_t detail = 0) {
  if (!holds) {
    ++failures;
    std::fprintf(stderr, "rank %d: %s (%llu)\n", rank, what, static_cast<unsigned long long>(detail));
  }
}

/// One worker: a task that held it would hang.
inline Runtime make_runtime() { return Runtime(Options{.workers = 1, .report_after = std::chrono::seconds(20)}); }

}  // namespace dovetail::rma::test
