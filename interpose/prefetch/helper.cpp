#include "helper.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "descriptors.hpp"
#include "prefetch/block_advice.hpp"
#include "prefetch/detected_advice.hpp"
#include "prefetch/page_cache.hpp"
#include "prefetch/plan_advice.hpp"
#include "recorder.hpp"
#include "system.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t stack_bytes = 64 << 10;
// In place of what the C library keeps for a thread, in the middle of it.
constexpr std::size_t thread_bytes = 4 * page;

constexpr auto cachestat = [](long number, int of, void* asked, void* pages, long flags) noexcept {
  return bare_call(number, of, reinterpret_cast<long>(asked), reinterpret_cast<long>(pages), flags);
};

}  // namespace

constinit Helper helper;

bool Helper::prepare() noexcept {
  if (DOVETAIL_PREFETCH_HELPER == 0) {
    return false;
  }
  if (stack_ != nullptr) {
    return true;
  }
  // A page that no thread may touch, the stack, and the thread's own memory.
  void* memory =
      mmap(nullptr, page + stack_bytes + thread_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  auto* begin = static_cast<std::byte*>(memory);
  if (mprotect(begin + page, stack_bytes + thread_bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, page + stack_bytes + thread_bytes);
    return false;
  }
  stack_ = begin + page;
  auto** own = reinterpret_cast<std::byte**>(stack_ + stack_bytes + thread_bytes / 2);
  *own = reinterpret_cast<std::byte*>(own);
  return true;
}

bool Helper::begin(int descriptor, std::uint32_t state) noexcept {
  std::int32_t nobody = 0;
  if (stop_.load(std::memory_order_relaxed) ||
      !thread_.compare_exchange_strong(nobody, -1, std::memory_order_acquire)) {
    return false;  // the next read comes here again, if it is still due then
  }
  descriptor_ = descriptor;
  state_ = state;
  return true;
}

void Helper::advise(int descriptor, std::uint32_t state, const FilePlan& plan) noexcept {
  if (begin(descriptor, state)) {
    plan_ = plan;
    detected_ = nullptr;
    advised_ = nullptr;
    start();
  }
}

void Helper::advise(int descriptor, std::uint32_t state, DetectedFile& file) noexcept {
  if (begin(descriptor, state)) {
    detected_ = &file;
    advised_ = nullptr;
    start();
  }
}

void Helper::advise(int descriptor, std::uint32_t state, AdvisedFile& file, std::uint64_t block_bytes) noexcept {
  if (begin(descriptor, state)) {
    advised_ = &file;
    block_bytes_ = block_bytes;
    start();
  }
}

void Helper::start() noexcept {
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  bare_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all), reinterpret_cast<long>(&before), sizeof all);
  constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                        CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  const int started =
      clone(main, stack_ + stack_bytes, flags, this, &thread_, stack_ + stack_bytes + thread_bytes / 2, &thread_);
  bare_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, sizeof all);
  if (started < 0) {
    thread_.store(0, std::memory_order_release);
  } else {
    last_.store(started, std::memory_order_relaxed);
  }
}

int Helper::main(void* self) noexcept {
  static_cast<Helper*>(self)->give();
  return 0;
}

bool Helper::has_the_file() const noexcept {
  return descriptors[descriptor_].state.load(std::memory_order_relaxed) == state_;
}

// The clock of `nanoseconds`, without the C library.
std::uint64_t bare_nanoseconds() noexcept {
  timespec now{};
  bare_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The file that it is about, as `give_plan` and `give_advice` want it.
struct Helper::OpenFile {
  const Helper& helper;
  std::uint32_t piece;
  std::atomic<std::uint64_t>& asked;

  std::int64_t cached_pages(const Range& range) const noexcept {
    return prefetching::cached_pages(helper.descriptor_, range, cachestat);
  }
  bool has_the_file() const noexcept { return helper.has_the_file(); }
  bool will_need(const Range& range) const noexcept {
    return in_pieces(range, piece, [this](const Range& part) noexcept {
      const std::uint64_t begun = recorder.traces() ? bare_nanoseconds() : 0;
      const bool told = tell(part, POSIX_FADV_WILLNEED);
      if (told && recorder.traces()) {
        recorder.note(descriptors[helper.descriptor_], Observation::Kind::asked, part.offset, part.end - part.offset,
                      begun, bare_nanoseconds());
      }
      asked.fetch_add(told ? part.end - part.offset : 0, std::memory_order_relaxed);
      return told;
    });
  }
  bool dont_need(const Range& range) const noexcept { return tell(range, POSIX_FADV_DONTNEED); }

 private:
  // False: nothing may be said any more.
  bool tell(const Range& range, int advice) const noexcept {
    if (helper.stop_.load(std::memory_order_relaxed) || !helper.has_the_file()) {
      return false;
    }
    bare_call(SYS_fadvise64, helper.descriptor_, static_cast<long>(range.offset),
              static_cast<long>(range.end - range.offset), advice);
    return true;
  }
};

void Helper::give() noexcept {
  if (advised_ != nullptr) {
    give_advice(*advised_, block_bytes_, OpenFile{*this, advised_->piece_bytes(), advised_->asked});
  } else if (detected_ != nullptr) {
    give_detected(*detected_, OpenFile{*this, detected_->piece_bytes(), detected_->asked});
  } else if (plan_.count != 0) {
    give_plan(plan_, OpenFile{*this, plan_.piece, plan_.progress->asked});
  }
}

void Helper::wait_until_ended() noexcept {
  stop_.store(true, std::memory_order_relaxed);
  const timespec longest{1, 0};
  bool is_held_up = false;
  for (std::int32_t seen = thread_.load(std::memory_order_acquire); seen > 0;
       seen = thread_.load(std::memory_order_acquire)) {
    // The system wakes this thread when the helper has ended. A helper that is held up by a device is not waited for.
    const long waited =
        bare_call(SYS_futex, reinterpret_cast<long>(&thread_), FUTEX_WAIT, seen, reinterpret_cast<long>(&longest));
    if (waited == -ETIMEDOUT) {
      is_held_up = true;
      break;
    }
  }
  // The system says that it has ended a moment before it has left the process, which still has two threads until then.
  const std::int32_t last = last_.load(std::memory_order_relaxed);
  while (!is_held_up && last > 0 && bare_call(SYS_tgkill, bare_call(SYS_getpid, 0), last, 0) == 0) {
    bare_call(SYS_sched_yield, 0);
  }
  stop_.store(false, std::memory_order_relaxed);
}

}  // namespace dovetail::prefetching
