#include "transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "dovetail/task.hpp"
#include "tasking/pause.hpp"
#include "tasking/waiting.hpp"

namespace dovetail::python {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;
static_assert(smallest_cut >= 2 * piece_bytes);
constexpr std::size_t most_at_once = 4;
// What direct transfers of any file system are content with.
constexpr std::size_t alignment = 4096;

struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Scratch = std::unique_ptr<std::byte, Free>;

Scratch make_scratch() {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, piece_bytes));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return Scratch(memory);
}

// NumPy puts arrays 16 bytes behind the begin of a page: the kernel refuses these for direct transfers.
bool lies_askew(const File& file, const std::byte* data, std::uint64_t offset) {
  return file.direct() && reinterpret_cast<std::uintptr_t>(data) % alignment != 0 && offset % alignment == 0;
}

// The pieces of one transfer, taken by whoever is free.
class Pieces {
 public:
  explicit Pieces(std::size_t size) : size_(size), count_((size + piece_bytes - 1) / piece_bytes), done_(count_) {}

  /// Calls `transfer(begin, length)` for pieces until there are none. It returns how many bytes it did.
  template <class Transfer>
  void work(const Transfer& transfer) noexcept {
    for (;;) {
      const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= count_ || failed_.load(std::memory_order_relaxed)) {
        return;
      }
      const std::size_t begin = piece * piece_bytes;
      try {
        done_[piece] = transfer(begin, std::min(piece_bytes, size_ - begin));
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!failed_.exchange(true, std::memory_order_relaxed)) {
          failure_ = std::current_exception();
        }
      }
    }
  }
  /// Has those who work stop after their piece.
  void stop() noexcept { failed_.store(true, std::memory_order_relaxed); }
  /// Once nobody works any more: the bytes up to the first that are missing.
  std::size_t total() const {
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    std::size_t sum = 0;
    for (std::size_t piece = 0; piece < count_; ++piece) {
      sum += done_[piece];
      if (done_[piece] < piece_bytes) {
        break;
      }
    }
    return sum;
  }
  std::size_t count() const noexcept { return count_; }

 private:
  const std::size_t size_;
  const std::size_t count_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::size_t> done_;
};

// In a task that can pause the helpers are its children, which pause too; elsewhere they are I/O tasks, and the caller is one of those
// that work. What they use is theirs, all but the array.
template <class Transfer>
std::size_t run(std::size_t size, Runtime* runtime, Transfer transfer) {
  const auto pieces = std::make_shared<Pieces>(size);
  const bool pauses = tasking::current_task() != nullptr && tasking::pause_switches();
  const std::size_t helpers = pauses || runtime != nullptr ? std::min(pieces->count(), most_at_once) - 1 : 0;
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
      // The caller is about to give up the array: only when nobody uses it any more.
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
    return run(data.size(), runtime, [file, data, offset](std::size_t begin, std::size_t length) {
      return file.pread(data.subspan(begin, length), offset + begin);
    });
  }
  return run(data.size(), runtime, [file, data, offset](std::size_t begin, std::size_t length) {
    const Scratch scratch = make_scratch();
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
    return run(data.size(), runtime, [file, data, offset](std::size_t begin, std::size_t length) {
      return file.pwrite(data.subspan(begin, length), offset + begin);
    });
  }
  return run(data.size(), runtime, [file, data, offset](std::size_t begin, std::size_t length) {
    const Scratch scratch = make_scratch();
    std::memcpy(scratch.get(), data.data() + begin, length);
    return file.pwrite(std::span<const std::byte>(scratch.get(), length), offset + begin);
  });
}

}  // namespace dovetail::python
