#include "tasking/idle_workers.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "tasking/worker.hpp"

namespace dovetail::tasking {

bool process_wide_barrier() noexcept {
  static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

std::size_t IdleWorkers::enter(Worker* worker) {
  std::lock_guard lock(mutex_);
  worker->is_idle = true;
  workers_.push_back(worker);
  count_.store(workers_.size(), std::memory_order_seq_cst);
  return workers_.size();
}

bool IdleWorkers::leave(Worker* worker) {
  std::lock_guard lock(mutex_);
  if (!worker->is_idle) {
    return false;
  }
  worker->is_idle = false;
  workers_.erase(std::find(workers_.begin(), workers_.end(), worker));
  count_.store(workers_.size(), std::memory_order_seq_cst);
  return true;
}

void IdleWorkers::wake_one() noexcept {
  Worker* worker = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (workers_.empty()) {
      return;
    }
    worker = workers_.back();
    workers_.pop_back();
    worker->is_idle = false;
    count_.store(workers_.size(), std::memory_order_seq_cst);
    searching_.fetch_add(1, std::memory_order_seq_cst);
  }
  worker->unpark();
}

void IdleWorkers::wake_all() noexcept {
  while (count() > 0) {
    wake_one();
  }
}

}  // namespace dovetail::tasking
