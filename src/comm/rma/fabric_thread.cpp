#include "comm/rma/fabric_thread.hpp"

#include <pthread.h>
#include <unistd.h>

#include "base/fifo.hpp"
#include "base/without_signals.hpp"
#include "comm/rma/engine.hpp"
#include "comm/rma/group.hpp"

namespace dovetail::comm::rma {

FabricThread::FabricThread(Group& group) : group_(group), process_(getpid()) {
  const base::WithoutSignals without;
  thread_ = std::make_unique<std::thread>([&group, ends = ends_] { run(group, ends); });
}

FabricThread::~FabricThread() {
  if (process_ != getpid()) {
    [[maybe_unused]] std::thread* const copy =
        thread_.release();  // the child of a fork has a copy of something that runs elsewhere
    return;
  }
  ends_->store(true, std::memory_order_release);
  if (thread_->get_id() == std::this_thread::get_id()) {
    thread_->detach();  // a task that it has told was the last to have the group
    return;
  }
  group_.fabric()->wake();
  thread_->join();
}

void FabricThread::run(Group& group, const std::shared_ptr<std::atomic<bool>>& ends) {
  pthread_setname_np(pthread_self(), "dovetail-fabric");
  while (!ends->load(std::memory_order_acquire)) {
    if (group.fabric()->sleep() && !ends->load(std::memory_order_acquire)) {
      base::Fifo<Waiter> ended;
      group.fabric()->drain(ended);
      group.take_arrived(ended);
      Engine::tell(ended);
    }
  }
}

}  // namespace dovetail::comm::rma
