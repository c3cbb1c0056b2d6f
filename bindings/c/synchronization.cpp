// Semaphores, locks, latches and barriers. The first of several things is in select.cpp.
#include "synchronization.hpp"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "argument.hpp"
#include "error.hpp"

using namespace dovetail::c;

extern "C" {

int32_t dovetail_semaphore_create(int64_t units, dovetail_semaphore** semaphore) {
  return guarded(__func__, [&]() -> int32_t {
    given(semaphore, "semaphore");
    *semaphore = new dovetail_semaphore(natural(units, "units"));
    return 0;
  });
}

void dovetail_semaphore_destroy(dovetail_semaphore* semaphore) { delete semaphore; }

int32_t dovetail_semaphore_acquire(dovetail_semaphore* semaphore, int64_t units) {
  return guarded(__func__, [&]() -> int32_t {
    given(semaphore, "semaphore").units.acquire(natural(units, "units"));
    return 0;
  });
}

int32_t dovetail_semaphore_acquire_for(dovetail_semaphore* semaphore, int64_t units, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int32_t {
    return given(semaphore, "semaphore").units.try_acquire_for(limit(at_most_ns), natural(units, "units")) ? 1 : 0;
  });
}

int32_t dovetail_semaphore_try_acquire(dovetail_semaphore* semaphore, int64_t units) {
  return guarded(__func__, [&]() -> int32_t {
    return given(semaphore, "semaphore").units.try_acquire(natural(units, "units")) ? 1 : 0;
  });
}

int32_t dovetail_semaphore_release(dovetail_semaphore* semaphore, int64_t units) {
  return guarded(__func__, [&]() -> int32_t {
    given(semaphore, "semaphore").units.release(natural(units, "units"));
    return 0;
  });
}

int64_t dovetail_semaphore_available(const dovetail_semaphore* semaphore) {
  return guarded(__func__, [&] { return static_cast<int64_t>(given(semaphore, "semaphore").units.available()); });
}

int32_t dovetail_mutex_create(dovetail_mutex** mutex) {
  return guarded(__func__, [&]() -> int32_t {
    given(mutex, "mutex");
    *mutex = new dovetail_mutex;
    return 0;
  });
}

void dovetail_mutex_destroy(dovetail_mutex* mutex) { delete mutex; }

int32_t dovetail_mutex_lock(dovetail_mutex* mutex) {
  return guarded(__func__, [&]() -> int32_t {
    given(mutex, "mutex").lock.lock();
    return 0;
  });
}

int32_t dovetail_mutex_lock_for(dovetail_mutex* mutex, int64_t at_most_ns) {
  return guarded(__func__,
                 [&]() -> int32_t { return given(mutex, "mutex").lock.try_lock_for(limit(at_most_ns)) ? 1 : 0; });
}

int32_t dovetail_mutex_try_lock(dovetail_mutex* mutex) {
  return guarded(__func__, [&]() -> int32_t { return given(mutex, "mutex").lock.try_lock() ? 1 : 0; });
}

int32_t dovetail_mutex_unlock(dovetail_mutex* mutex) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::Mutex& lock = given(mutex, "mutex").lock;
    if (!lock.is_locked()) {
      throw std::system_error(EPERM, std::generic_category(), "nobody holds this lock");
    }
    lock.unlock();
    return 0;
  });
}

int32_t dovetail_latch_create(int64_t count, dovetail_latch** latch) {
  return guarded(__func__, [&]() -> int32_t {
    given(latch, "latch");
    *latch = new dovetail_latch(natural(count, "count"));
    return 0;
  });
}

void dovetail_latch_destroy(dovetail_latch* latch) { delete latch; }

int32_t dovetail_latch_count_down(dovetail_latch* latch, int64_t steps) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::Latch& counted = given(latch, "latch").latch;
    const std::uint64_t number = natural(steps, "steps");
    if (!counted.count_down(number)) {
      throw std::invalid_argument(std::to_string(number) + " steps of a latch, and " +
                                  std::to_string(counted.remaining()) + " are left");
    }
    return 0;
  });
}

int32_t dovetail_latch_try_wait(const dovetail_latch* latch) {
  return guarded(__func__, [&]() -> int32_t { return given(latch, "latch").latch.try_wait() ? 1 : 0; });
}

int32_t dovetail_latch_wait(dovetail_latch* latch) {
  return guarded(__func__, [&]() -> int32_t {
    given(latch, "latch").latch.wait();
    return 0;
  });
}

int32_t dovetail_latch_wait_for(dovetail_latch* latch, int64_t at_most_ns) {
  return guarded(__func__,
                 [&]() -> int32_t { return given(latch, "latch").latch.wait_for(limit(at_most_ns)) ? 1 : 0; });
}

int32_t dovetail_barrier_create(int64_t participants, dovetail_barrier** barrier) {
  return guarded(__func__, [&]() -> int32_t {
    given(barrier, "barrier");
    if (natural(participants, "participants") == 0) {
      throw std::invalid_argument("'participants' is 0; a barrier has at least one");
    }
    *barrier = new dovetail_barrier(static_cast<std::uint64_t>(participants));
    return 0;
  });
}

void dovetail_barrier_destroy(dovetail_barrier* barrier) { delete barrier; }

int32_t dovetail_barrier_arrive_and_wait(dovetail_barrier* barrier) {
  return guarded(__func__, [&]() -> int32_t {
    given(barrier, "barrier").barrier.arrive_and_wait();
    return 0;
  });
}

int32_t dovetail_barrier_arrive_and_wait_for(dovetail_barrier* barrier, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int32_t {
    return given(barrier, "barrier").barrier.arrive_and_wait_for(limit(at_most_ns)) ? 1 : 0;
  });
}

int32_t dovetail_barrier_arrive_and_drop(dovetail_barrier* barrier) {
  return guarded(__func__, [&]() -> int32_t {
    if (!given(barrier, "barrier").barrier.arrive_and_drop()) {
      throw std::invalid_argument("1 participant of a barrier, and 0 are left");
    }
    return 0;
  });
}

}  // extern "C"
