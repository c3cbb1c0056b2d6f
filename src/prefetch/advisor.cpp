#include "prefetch/advisor.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

#include "prefetch/block_advice.hpp"

namespace dovetail::prefetching {
namespace {

// An open file keeps its file system from being unmounted, and its space when it is deleted.
constexpr std::uint64_t rounds_until_closed = 2;

/// An open file, as `give_advice` wants it.
struct System {
  int descriptor;
  std::uint32_t piece;
  std::atomic<std::uint64_t>& asked;

  std::int64_t cached_pages(const Range& range) const noexcept {
    return prefetching::cached_pages(descriptor, range, [](auto... arguments) { return syscall(arguments...); });
  }
  bool has_the_file() const noexcept { return true; }
  bool will_need(const Range& range) const noexcept {
    for (std::uint64_t at = range.offset; at < range.end; at += piece) {
      const std::uint64_t bytes = std::min<std::uint64_t>(piece, range.end - at);
      posix_fadvise(descriptor, static_cast<off_t>(at), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
      asked.fetch_add(bytes, std::memory_order_relaxed);
    }
    return true;
  }
  bool dont_need(const Range& range) const noexcept {
    posix_fadvise(descriptor, static_cast<off_t>(range.offset), static_cast<off_t>(range.end - range.offset),
                  POSIX_FADV_DONTNEED);
    return true;
  }
};

// Work that nobody can do.
void discard(AdvisedFile& file) noexcept {
  Range range{};
  for (std::uint32_t count = 0; count < 256 && (file.blocks.take_wanted(range) || file.blocks.take_released(range));
       ++count) {
  }
}

}  // namespace

Advisor::Advisor(AdviceTable table) : table_(table), open_(table.files()) {}

Advisor::~Advisor() { close_idle(true); }

void Advisor::run() {
  table_.serve(true);
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = table_.told().load(std::memory_order_acquire);
    if (serve_all()) {
      continue;
    }
    table_.will_wait();
    const timespec longest{1, 0};
    // Not private: other processes wake it.
    const long waited = syscall(SYS_futex, &table_.told(), FUTEX_WAIT, seen, &longest);
    if (waited < 0 && errno == ETIMEDOUT) {
      ++round_;
      close_idle(false);
    }
  }
  table_.serve(false);
}

void Advisor::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  table_.told().fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &table_.told(), FUTEX_WAKE, 1);
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
  const std::uint64_t rule = file.rule;
  if (file.state.load(std::memory_order_acquire) != FileEntry::ready || rule >= table_.rules()) {
    return;
  }
  OpenFile& open_file = open_[number];
  open_file.used = round_;
  if (!open(open_file, file)) {
    discard(file);
    return;
  }
  give_advice(file, table_.sizes(static_cast<std::uint32_t>(rule)).block_bytes,
              System{open_file.descriptor, file.piece_bytes(), file.asked});
}

bool Advisor::open(OpenFile& open, AdvisedFile& file) noexcept {
  const std::uint64_t device = file.device;
  const std::uint64_t inode = file.inode;
  if (open.descriptor >= 0 && open.device == device && open.inode == inode) {
    return true;
  }
  if (open.descriptor >= 0) {
    ::close(open.descriptor);
    open.descriptor = -1;
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
    open.descriptor = ::open(("/proc/self/fd/" + std::to_string(path)).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (open.descriptor < 0 && errno == EACCES) {
      // The program has a right to read it that this user has not.
      file.given_up.store(cannot_be_opened, std::memory_order_relaxed);
    }
  }
  ::close(path);
  open.device = device;
  open.inode = inode;
  return open.descriptor >= 0;
}

std::size_t Advisor::open_files() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(open_, [](const OpenFile& open) { return open.descriptor >= 0; }));
}

void Advisor::close_idle(bool all) noexcept {
  for (OpenFile& open : open_) {
    if (open.descriptor >= 0 && (all || round_ - open.used >= rounds_until_closed)) {
      ::close(open.descriptor);
      open.descriptor = -1;
    }
  }
}

}  // namespace dovetail::prefetching
