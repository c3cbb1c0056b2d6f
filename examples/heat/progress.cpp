#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace heat {

Progress::Progress(bool shown, std::uint64_t total, std::function<std::string()> note)
    : total_(std::max<std::uint64_t>(total, 1)), note_(std::move(note)) {
  if (shown) {
    thread_ = std::thread([this] { show_until_stopped(); });
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void Progress::show_until_stopped() {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto interval = std::chrono::milliseconds(terminal ? 100 : 500);
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, interval, [this] { return stop_; })) {
    show_once(terminal);
  }
  show_once(terminal);
  if (terminal) {
    std::fputc('\n', stderr);
  }
}

void Progress::show_once(bool terminal) const {
  const std::uint64_t done = std::min(done_.load(std::memory_order_relaxed), total_);
  const auto percent = static_cast<int>(100 * done / total_);
  const std::string note = note_();
  if (terminal) {
    constexpr std::size_t width = 40;
    std::string bar(static_cast<std::size_t>(percent) * width / 100, '#');
    bar.resize(width, '.');
    // Back to the beginning of the line, and erase what a longer text has left.
    std::fprintf(stderr, "\r[%s] %3d %%  %s\x1b[K", bar.c_str(), percent, note.c_str());
  } else {
    std::fprintf(stderr, "heat: %d %%, %s\n", percent, note.c_str());
  }
  std::fflush(stderr);
}

}  // namespace heat
