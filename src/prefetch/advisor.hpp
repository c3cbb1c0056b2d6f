// Gives the advice that programs want, from a process of its own: the advice manager of Mercury (G. Congiu, section 3.2).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "prefetch/advice_table.hpp"
#include "prefetch/file_system_hints.hpp"

namespace dovetail::prefetching {

/// Programs note their reads in the table and say which files have work. The advisor opens a file itself, by the system's way to the descriptor of the
/// program (/proc/PID/fd/N). It does so only after that way was seen to lead to the regular file of the table. So no descriptor of a program is touched or
/// passed on, and the advisor reaches nothing that its user could not read. It closes a file that has no work for two seconds. If there are too many, it
/// first closes the one that has had none for longest.
class Advisor {
 public:
  static constexpr std::size_t most_open_files = 256;

  /// `seconds`: a clock that never goes back.
  explicit Advisor(AdviceTable table, std::uint64_t (*seconds)() = monotonic_seconds);
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  /// Serves until `stop` is called. Programs give their advice themselves before and after. One thread may call it.
  void run();
  /// Any thread may call it.
  void stop() noexcept;
  /// No program runs any more: what was known of blocks and of files in memory may not be so when the next one comes. Any thread may call it. What is told
  /// at the same time may be forgotten as well.
  void forget() noexcept;
  /// Files that it has open. Any thread may call it.
  std::size_t open_files() const noexcept { return open_files_.load(std::memory_order_relaxed); }

 private:
  struct OpenFile {
    int descriptor = -1;
    FileSystemHints::Kind hints = FileSystemHints::Kind::page_cache;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t used = 0;  // the second in which it last had work
  };

  void limit_memory();
  bool serve_all();
  void serve(std::uint32_t number);
  bool open(OpenFile& open, AdvisedFile& file) noexcept;
  void wake() noexcept;
  void forget_all() noexcept;
  void close(OpenFile& open) noexcept;
  void close_idle() noexcept;
  void close_oldest() noexcept;
  static std::uint64_t monotonic_seconds();

  AdviceTable table_;
  FileSystemHints hints_;
  std::uint64_t (*seconds_)();
  std::vector<OpenFile> open_;
  std::uint64_t now_ = 0;
  std::atomic<std::size_t> open_files_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> forgets_{false};
};

}  // namespace dovetail::prefetching
