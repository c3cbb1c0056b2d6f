// A steady load on a file, and the means to drive it: io_uring, libaio, or threads, without tasks around them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "device/direction.hpp"

namespace dovetail::device {

/// A request of a load: as many transfers as it takes to move all of its bytes.
struct Transfer {
  int descriptor = -1;
  Direction direction = Direction::read;
  std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t remaining = 0;
  int error = 0;  ///< An errno.

  /// Takes the result of a system call (bytes, or a negative errno) into account. Returns whether another is needed.
  bool attempted(std::int64_t result) noexcept;
  /// Makes system calls until it has ended.
  void perform() noexcept;
};

/// `depth` requests of one size, each followed by another as soon as it has ended. Many threads may drive it.
class Load {
 public:
  using Clock = std::chrono::steady_clock;
  struct Shape {
    int descriptor = -1;
    Direction direction = Direction::read;
    std::uint64_t block = 0;
    unsigned depth = 0;
    std::byte* memory = nullptr;
    /// At least one block. Each slot goes through its part of it again and again, however few requests are under way. If they
    /// always used the same few blocks, these would stay in a cache. A shallow queue would then seem faster than it is.
    std::size_t memory_size = 0;
    const std::vector<std::uint32_t>* order = nullptr;  ///< Numbers of the blocks, again and again.
    std::uint64_t limit = ~std::uint64_t{0};            ///< Most requests begun.
  };
  /// What is asked after each end: how many have ended, and when. False: begin no more. From any driving thread, one at a time
  /// only if it sees to that itself.
  using GoOn = std::function<bool(std::uint64_t ended, Clock::time_point now)>;

  /// One of the requests under way at once.
  struct Slot {
    Transfer transfer;
    std::uint64_t turns = 0;  // Requests begun.
    Clock::time_point begun;
    unsigned epoch = 0;
    std::uint64_t samples = 0;
    std::vector<float> latencies;  // The latest ones, in seconds.
  };

  Load(const Shape& shape, GoOn go_on);

  std::vector<Slot>& slots() noexcept { return slots_; }
  /// Plans the next request of a slot. Returns false if there is none.
  bool begin(Slot& slot) noexcept;
  /// The request of a slot has ended. Returns whether it may begin another.
  bool ended(Slot& slot) noexcept;
  /// From now on no request begins.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  /// Latencies before now do not count.
  void forget_latencies() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }

  /// @name After the run: no thread changes these any more, so they are read without the lock
  /// @{
  std::uint64_t count() const noexcept { return ended_.load(std::memory_order_relaxed); }
  /// errno of the failed request that lies first.
  int error() const noexcept NO_THREAD_SAFETY_ANALYSIS { return error_; }
  /// Where it failed.
  std::uint64_t error_offset() const noexcept NO_THREAD_SAFETY_ANALYSIS { return error_offset_; }
  /// Seconds that this share of the requests, from 0 to 1, did not exceed.
  double latency(double share) const;
  /// @}

 private:
  std::byte* next_memory(Slot& slot) noexcept;
  static constexpr std::size_t samples_kept = 4096;

  const Shape shape_;
  const GoOn go_on_;
  std::vector<Slot> slots_;
  const std::size_t places_;  // Blocks of the memory for each slot; 0: slots share.
  alignas(64) std::atomic<std::uint64_t> begun_{0};
  alignas(64) std::atomic<std::uint64_t> ended_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<unsigned> epoch_{0};
  base::Mutex failing_;
  int error_ GUARDED_BY(failing_) = 0;
  std::uint64_t error_offset_ GUARDED_BY(failing_) = 0;
};

/// Performs the requests of a load. Not thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual const char* name() const noexcept = 0;
  /// Returns when all requests that began have ended.
  virtual void run(Load& load) = 0;
};

/// @param name `uring`, `aio` or `threads`
/// @returns null where it does not work; then `why_not` says why.
std::unique_ptr<Driver> make_driver(const std::string& name, unsigned depth, std::string& why_not);

}  // namespace dovetail::device
