// What is behind the opaque objects of dovetail_synchronization.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "dovetail/dovetail_synchronization.h"
#include "dovetail/synchronization.hpp"

struct dovetail_semaphore {
  explicit dovetail_semaphore(std::uint64_t number) : units(number) {}
  dovetail::Semaphore units;
};
// As dovetail::Mutex, which does not tell whether somebody holds it.
struct dovetail_mutex {
  dovetail::Semaphore free{1};
};
// The C++ classes leave it to the program not to count too often.
struct dovetail_latch {
  explicit dovetail_latch(std::uint64_t count) : latch(count), left(count) {}
  dovetail::Latch latch;
  std::atomic<std::uint64_t> left;  ///< Steps that have not been announced.
};
struct dovetail_barrier {
  explicit dovetail_barrier(std::uint64_t participants) : barrier(participants), left(participants) {}
  dovetail::Barrier barrier;
  std::atomic<std::uint64_t> left;  ///< Participants that have not dropped out.
};
