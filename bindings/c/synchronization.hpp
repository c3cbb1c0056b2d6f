// What is behind the opaque objects of dovetail_synchronization.h.
#pragma once

#include <cstdint>

#include "dovetail/dovetail_synchronization.h"
#include "dovetail/synchronization.hpp"

struct dovetail_semaphore {
  explicit dovetail_semaphore(std::uint64_t number) : units(number) {}
  dovetail::Semaphore units;
};
struct dovetail_mutex {
  dovetail::Mutex lock;
};
struct dovetail_latch {
  explicit dovetail_latch(std::uint64_t count) : latch(count) {}
  dovetail::Latch latch;
};
struct dovetail_barrier {
  explicit dovetail_barrier(std::uint64_t participants) : barrier(participants) {}
  dovetail::Barrier barrier;
};
