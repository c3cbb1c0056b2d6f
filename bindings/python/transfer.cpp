#include "transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "base/mutex.hpp"
#include "dovetail/task.hpp"
#include "tasking/pause.hpp"
#include "tasking/waiting.hpp"

namespace dovetail::python {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;
static_assert(smallest_cut >= 2 * piece_bytes);
constexpr std::size_t most_at_once = 4;
// Copied bytes are still in a cache if the pieces are small; then there must be more of them to keep the device busy.
constexpr std::size_t copied_bytes = std::size_t{1} << 20;
constexpr std::size_t most_copied_at_once = 8;
// Enough for direct transfers of any file system.
constexpr std::size_t alignment = 4096;

struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

// Memory for a piece on its way. Each copy of a transfer has its own, and only when it needs it.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) noexcept {}
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() = default;

  std::byte* get() {
    if (memory_ == nullptr) {
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, copied_bytes)));
      if (memory_ == nullptr) {
        throw std::bad_alloc();
      }
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte, Free> memory_;
};

// NumPy puts arrays 16 bytes behind the begin of a page: the kernel refuses these for direct transfers.
bool lies_askew(const File& file, const std::byte* data, std::uint64_t offset) {
  return file.direct() && reinterpret_cast<std::uintptr_t>(data) % alignment != 0 && offset % alignment == 0;
}

// The pieces of one transfer, taken by the thread that is free.
class Pieces {
 public:
  Pieces(std::size_t size, std::size_t piece)
      : size_(size), piece_bytes_(piece), count_((size + piece - 1) / piece), done_(count_) {}

  /// Calls `transfer(begin, length)` for pieces until there are none. It returns how many bytes it did.
  template <class Transfer>
  void work(const Transfer& transfer) noexcept {
    auto own = transfer;  // NOLINT(performance-unnecessary-copy-initialization): some change memory of their own
    for (;;) {
      const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= count_ || failed_.load(std::memory_order_relaxed)) {
        return;
      }
      const std::size_t begin = piece * piece_bytes_;
      try {
        done_[piece] = own(begin, std::min(piece_bytes_, size_ - begin));
      } catch (...) {
        const base::LockGuard lock(mutex_);
        if (!failed_.exchange(true, std::memory_order_relaxed)) {
          failure_ = std::current_exception();
        }
      }
    }
  }
  /// Has the threads that work stop after their piece.
  void stop() noexcept { failed_.store(true, std::memory_order_relaxed); }
  /// The bytes up to the first that are missing. Called after all threads have ended, so it needs no lock.
  std::size_t total() const NO_THREAD_SAFETY_ANALYSIS {
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    std::size_t sum = 0;
    for (std::size_t piece = 0; piece < count_; ++piece) {
      sum += done_[piece];
      if (done_[piece] < piece_bytes_) {
        break;
      }
    }
    return sum;
  }
  std::size_t count() const noexcept { return count_; }

 private:
  const std::size_t size_;
  const std::size_t piece_bytes_;
  const std::size_t count_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  base::Mutex mutex_;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  std::vector<std::size_t> done_;
};

// In a task that can pause the helpers are its children, which pause too; elsewhere they are I/O tasks, and the caller is one of those
// that work. They own what they use, save the array.
template <class Transfer>
std::size_t run(std::size_t size, Runtime* runtime, std::size_t piece, std::size_t at_once, const Transfer& transfer) {
  const auto pieces = std::make_shared<Pieces>(size, piece);
  const bool pauses = tasking::current_task() != nullptr && tasking::pause_switches();
  const std::size_t helpers = pauses || runtime != nullptr ? std::min(pieces->count(), at_once) - 1 : 0;
  const auto help = [pieces, transfer] { pieces->work(transfer); };
  std::vector<dovetail::Future<void>> futures;
  futures.reserve(helpers);
  for (std::size_t i = 0; i < helpers; ++i) {
    futures.push_back(pauses ? dovetail::spawn({.label = "piece of a transfer", .priority = 1}, help)
                             : runtime->spawn({.label = "piece of a transfer", .io = true}, help));
  }
  help();
  std::exception_ptr interrupted;
  for (const dovetail::Future<void>& future : futures) {
    try {
      future.wait();
    } catch (...) {
      // The caller is about to give up the array: only when no thread uses it any more.
      interrupted = std::current_exception();
      pieces->stop();
      tasking::set_interrupt_look(nullptr);
      future.wait();
    }
  }
  if (interrupted != nullptr) {
    std::rethrow_exception(interrupted);
  }
  return pieces->total();
}

}  // namespace

std::size_t read_all(const File& file, std::span<std::byte> data, std::uint64_t offset, Runtime* runtime) {
  if (data.size() < smallest_cut) {
    return file.pread(data, offset);
  }
  if (!lies_askew(file, data.data(), offset)) {
    return run(data.size(), runtime, piece_bytes, most_at_once,
               [file, data, offset](std::size_t begin, std::size_t length) {
                 return file.pread(data.subspan(begin, length), offset + begin);
               });
  }
  return run(data.size(), runtime, copied_bytes, most_copied_at_once,
             [file, data, offset, scratch = Scratch()](std::size_t begin, std::size_t length) mutable {
               const std::size_t count = file.pread(std::span(scratch.get(), length), offset + begin);
               std::memcpy(data.data() + begin, scratch.get(), count);
               return count;
             });
}

std::size_t write_all(const File& file, std::span<const std::byte> data, std::uint64_t offset, Runtime* runtime) {
  if (data.size() < smallest_cut) {
    return file.pwrite(data, offset);
  }
  if (!lies_askew(file, data.data(), offset)) {
    return run(data.size(), runtime, piece_bytes, most_at_once,
               [file, data, offset](std::size_t begin, std::size_t length) {
                 return file.pwrite(data.subspan(begin, length), offset + begin);
               });
  }
  return run(data.size(), runtime, copied_bytes, most_copied_at_once,
             [file, data, offset, scratch = Scratch()](std::size_t begin, std::size_t length) mutable {
               std::memcpy(scratch.get(), data.data() + begin, length);
               return file.pwrite(std::span<const std::byte>(scratch.get(), length), offset + begin);
             });
}

}  // namespace dovetail::python
