// Gives the advice that programs want, from a process of its own: the advice manager of Mercury (G. Congiu, section 3.2).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "prefetch/advice_table.hpp"

namespace dovetail::prefetching {

/// Programs note their reads in the table and say which files have work. The advisor opens a file itself, by the way that the system has to the descriptor
/// of the program (/proc/PID/fd/N), and only after that way was seen to lead to the regular file of the table. So no descriptor of a program is touched or
/// passed on, and the advisor reaches nothing that its user could not read. A file that has no work for a while is closed.
class Advisor {
 public:
  explicit Advisor(AdviceTable table);
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  /// Serves until `stop` is called. Programs give their advice themselves before and after. One thread may call it.
  void run();
  /// Any thread may call it.
  void stop() noexcept;
  /// Files that it has open. For the thread that calls `run`, or after it.
  std::size_t open_files() const noexcept;

 private:
  struct OpenFile {
    int descriptor = -1;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t used = 0;  // the round in which it last had work
  };

  bool serve_all();
  void serve(std::uint32_t number);
  bool open(OpenFile& open, AdvisedFile& file) noexcept;
  void close_idle(bool all) noexcept;

  AdviceTable table_;
  std::vector<OpenFile> open_;
  std::uint64_t round_ = 0;  // of waiting: about a second each
  std::atomic<bool> stopping_{false};
};

}  // namespace dovetail::prefetching
