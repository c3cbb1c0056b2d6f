// The thread of a fabric: others reach the memory of a process while it computes, and its tasks hear of what has come.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <thread>

namespace dovetail::comm::rma {

class Group;

/// As long as this lives. It sleeps while another thread sees to progress, and while nothing comes.
class FabricThread {
 public:
  /// The group has a fabric, and outlives this. @throws std::system_error
  explicit FabricThread(Group& group);
  /// Blocks until the thread has ended, unless it is the calling one: then nothing of the group is used any more when this returns.
  ~FabricThread();
  FabricThread(const FabricThread&) = delete;
  FabricThread& operator=(const FabricThread&) = delete;

 private:
  static void run(Group& group, const std::shared_ptr<std::atomic<bool>>& ends);

  Group& group_;
  const pid_t process_;
  const std::shared_ptr<std::atomic<bool>> ends_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<std::thread> thread_;
};

}  // namespace dovetail::comm::rma
