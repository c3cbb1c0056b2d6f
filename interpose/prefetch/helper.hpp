// A thread that gives advice while the program goes on, and ends as soon as there is no more to give.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/advice_table.hpp"
#include "prefetch/detection_table.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// The thread is not the C library's. So a program with one thread keeps what the C library does for such programs. A program whose first thread ends by
/// pthread_exit still ends with its last. A signal handler may start it. It touches nothing that belongs to a thread, makes bare
/// system calls, and takes no signal.
class Helper {
 public:
  /// Takes memory for the thread, once. False: there is none, or there can be no such thread on this processor.
  bool prepare() noexcept;
  /// Starts the thread for this file, unless it runs.
  void advise(int descriptor, std::uint32_t state, const FilePlan& plan) noexcept;
  void advise(int descriptor, std::uint32_t state, DetectedFile& file) noexcept;
  void advise(int descriptor, std::uint32_t state, AdvisedFile& file, std::uint64_t block_bytes) noexcept;
  /// Waits until it has ended: before what a process can do only with one thread, or must do with all of its threads.
  void wait_until_ended() noexcept;
  /// In the child of a fork, where the thread is not.
  void forget() noexcept { thread_.store(0, std::memory_order_relaxed); }

 private:
  struct OpenFile;

  static int main(void* self) noexcept;
  bool begin(int descriptor, std::uint32_t state) noexcept;
  void start() noexcept;
  void give() noexcept;
  /// Whether the descriptor is still that of the file. It may have been closed, and may be another file's by now.
  bool has_the_file() const noexcept;

  std::byte* stack_ = nullptr;
  // Its number, which the system sets to 0 when it has ended. -1: it is being started.
  alignas(4) std::atomic<std::int32_t> thread_{0};
  std::atomic<std::int32_t> last_{0};  // the number of the last one, also when it has ended
  std::atomic<bool> stop_{false};
  // What it is about. Written by the thread that has set `thread_` to -1.
  int descriptor_ = -1;
  std::uint32_t state_ = 0;
  FilePlan plan_;
  // One of them, or none: then it is about the plan.
  DetectedFile* detected_ = nullptr;
  AdvisedFile* advised_ = nullptr;
  std::uint64_t block_bytes_ = 0;
};
extern constinit Helper helper;

}  // namespace dovetail::prefetching
