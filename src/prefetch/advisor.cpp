#include "prefetch/advisor.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

#include "base/available_memory.hpp"
#include "base/clock.hpp"
#include "prefetch/block_advice.hpp"

namespace dovetail::prefetching {
namespace {

// An open file keeps its file system from being unmounted, and its space when it is deleted.
constexpr std::uint64_t seconds_until_closed = 2;

/// An open file, as `give_advice` wants it.
struct System {
  const FileSystemHints& hints;
  FileSystemHints::Kind kind;
  int descriptor;
  AdvisedFile& file;
  const std::atomic<bool>& stopping;

  std::int64_t cached_pages(const Range& range) const noexcept {
    return prefetching::cached_pages(descriptor, range, syscall);
  }
  bool has_the_file() const noexcept { return true; }
  bool will_need(const Range& range) const noexcept {
    return in_pieces(range, file.piece_bytes(), [this](const Range& part) noexcept {
      if (stopping.load(std::memory_order_relaxed)) {
        return false;
      }
      hints.will_need(kind, descriptor, part);
      file.asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
  bool dont_need(const Range& range) const noexcept {
    hints.dont_need(kind, descriptor, range);
    return !stopping.load(std::memory_order_relaxed);
  }
};

long file_system_of(int path) noexcept {
  struct statfs status{};
  return fstatfs(path, &status) == 0 ? static_cast<long>(status.f_type) : 0;
}

}  // namespace

std::uint64_t Advisor::monotonic_seconds() { return base::coarse_nanoseconds() / 1'000'000'000; }

Advisor::Advisor(AdviceTable table, std::uint64_t (*seconds)())
    : table_(table), seconds_(seconds), open_(table.files()), now_(seconds()) {}

Advisor::~Advisor() {
  for (OpenFile& open : open_) {
    close(open);
  }
}

void Advisor::limit_memory() { table_.limit(std::max<std::uint64_t>(base::available_memory() / 4, 1)); }

void Advisor::run() {
  limit_memory();
  table_.serve(true);
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = table_.told().load(std::memory_order_acquire);
    if (forgets_.exchange(false, std::memory_order_acquire)) {
      forget_all();
    }
    const std::uint64_t before = now_;
    now_ = seconds_();
    if (now_ != before) {
      close_idle();
      limit_memory();
    }
    if (serve_all()) {
      continue;
    }
    table_.will_wait();
    const timespec longest{1, 0};
    // Not private: other processes wake it.
    syscall(SYS_futex, &table_.told(), FUTEX_WAIT, seen, &longest);
  }
  table_.serve(false);
}

void Advisor::wake() noexcept {
  table_.told().fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &table_.told(), FUTEX_WAKE, 1);
}

void Advisor::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  wake();
}

void Advisor::forget() noexcept {
  forgets_.store(true, std::memory_order_release);
  wake();
}

void Advisor::forget_all() noexcept {
  for (std::uint32_t number = 0; number < table_.files(); ++number) {
    AdvisedFile& file = table_.file(number);
    close(open_[number]);
    if (file.state.load(std::memory_order_acquire) == FileEntry::ready) {
      file.blocks.reset();
      file.looked.store(0, std::memory_order_relaxed);
      file.given_up.store(not_given_up, std::memory_order_relaxed);
    }
  }
}

bool Advisor::serve_all() {
  bool any = false;
  for (std::uint32_t first = 0; first < table_.files(); first += 64) {
    std::uint64_t files = table_.take_work(first / 64);
    while (files != 0) {
      const std::uint32_t number = first + static_cast<std::uint32_t>(std::countr_zero(files));
      files &= files - 1;
      if (number < table_.files()) {
        serve(number);
        any = true;
      }
    }
  }
  return any;
}

void Advisor::serve(std::uint32_t number) {
  AdvisedFile& file = table_.file(number);
  const std::uint32_t rule = file.rule;
  if (file.state.load(std::memory_order_acquire) != FileEntry::ready || rule >= table_.rules()) {
    return;
  }
  OpenFile& open_file = open_[number];
  if (!open(open_file, file)) {
    discard_advice(file);
    return;
  }
  open_file.used = now_;
  give_advice(file, table_.sizes(rule, 0).block_bytes,
              System{hints_, open_file.hints, open_file.descriptor, file, stopping_});
}

bool Advisor::open(OpenFile& open, AdvisedFile& file) noexcept {
  const std::uint64_t device = file.device;
  const std::uint64_t inode = file.inode;
  if (open.descriptor >= 0 && open.device == device && open.inode == inode) {
    return true;
  }
  close(open);
  if (open_files() >= most_open_files) {
    close_oldest();
  }
  const Holder holder = file.held_by();
  const std::string way = "/proc/" + std::to_string(holder.process) + "/fd/" + std::to_string(holder.descriptor);
  // To open something has effects of its own, unless it is a regular file. With O_PATH nothing is opened.
  const int path = ::open(way.c_str(), O_PATH | O_CLOEXEC);
  if (path < 0) {
    return false;
  }
  struct stat status{};
  if (fstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == device && status.st_ino == inode) {
    const long file_system = file_system_of(path);
    open.hints = hints_.kind_of(file_system);
    // Where a file that another process has open cannot be removed as usual, the program would notice.
    const bool may_be_opened = file_system != NFS_SUPER_MAGIC;
    if (may_be_opened) {
      open.descriptor = ::open(("/proc/self/fd/" + std::to_string(path)).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (!may_be_opened || (open.descriptor < 0 && errno == EACCES)) {
      file.given_up.store(cannot_be_opened, std::memory_order_relaxed);
    }
  }
  ::close(path);
  if (open.descriptor < 0) {
    return false;
  }
  open.device = device;
  open.inode = inode;
  open_files_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Advisor::close(OpenFile& open) noexcept {
  if (open.descriptor >= 0) {
    ::close(open.descriptor);
    open.descriptor = -1;
    open_files_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Advisor::close_idle() noexcept {
  for (OpenFile& open : open_) {
    if (now_ - open.used >= seconds_until_closed) {
      close(open);
    }
  }
}

void Advisor::close_oldest() noexcept {
  OpenFile* oldest = nullptr;
  for (OpenFile& open : open_) {
    if (open.descriptor >= 0 && (oldest == nullptr || open.used < oldest->used)) {
      oldest = &open;
    }
  }
  if (oldest != nullptr) {
    close(*oldest);
  }
}

}  // namespace dovetail::prefetching
