/// @file
/// Messages of MPI that are bound to the task which starts them. The examples with ranks share this folder; each compiles it with the mpi.h of
/// its library.
#pragma once

#include <memory>

namespace messages {

/// Both calls are made in a task, or in its `onready`, and return at once. The task completes, or begins, when the message has been sent or
/// received. Its memory lives and is left alone until then. From any thread.
class BoundMessages {
 public:
  virtual ~BoundMessages() = default;
  /// `bytes` of them to a rank.
  virtual void send(const void* data, int bytes, int rank, int tag) = 0;
  /// From a rank.
  virtual void receive(void* data, int bytes, int rank, int tag) = 0;
};

/// Messages that are bound by <dovetail/mpi.hpp>.
std::unique_ptr<BoundMessages> task_aware_messages();

}  // namespace messages
