/// @file
/// The baseline of comparisons: messages of tasks as a task-aware library makes them that stands on MPI_THREAD_MULTIPLE alone. In the manner of
/// TAMPI (paper on TAGASPI in docs/papers.md, sections II-C, V-B and VI-C). The task's thread calls MPI, whatever other threads do, and a
/// service tests all requests at a fixed rate. Threads wait for each other at the lock of the MPI library.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <vector>

#include "bound_messages.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/polling.hpp"

namespace messages {

/// See above. The runtime lives longer.
class PolledMessages final : public BoundMessages {
 public:
  /// `period`: between two tests of all requests; 0: all the time.
  PolledMessages(dovetail::Runtime& runtime, std::chrono::microseconds period);
  void send(const void* data, int bytes, int rank, int tag) override;
  void receive(void* data, int bytes, int rank, int tag) override;

 private:
  struct Bound {
    MPI_Request request;
    dovetail::Events* events;
  };
  // Tests it once. If it has not ended, its end is bound to the current task.
  void bind(MPI_Request request);
  std::size_t poll();

  std::mutex mutex_;
  std::vector<Bound> new_;
  std::vector<MPI_Request> requests_;  // these three: of the polling function
  std::vector<dovetail::Events*> events_;
  std::vector<int> ended_;
  dovetail::PollingService service_;
};

}  // namespace messages
