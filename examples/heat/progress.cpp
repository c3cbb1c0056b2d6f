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
  // A bar may be drawn over and over; of plain lines there are at most about twenty.
  const int stride = terminal ? 0 : 5;
  int shown = -stride;
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return stop_; })) {
    if (percent() >= shown + stride) {
      shown = percent();
      show_once(terminal);
    }
  }
  show_once(terminal);
  if (terminal) {
    std::fputc('\n', stderr);
  }
}

int Progress::percent() const noexcept {
  return static_cast<int>(100 * std::min(done_.load(std::memory_order_relaxed), total_) / total_);
}

void Progress::show_once(bool terminal) const {
  const int now = percent();
  const std::string note = note_();
  if (terminal) {
    constexpr std::size_t width = 40;
    std::string bar(static_cast<std::size_t>(now) * width / 100, '#');
    bar.resize(width, '.');
    // Back to the beginning of the line, and erase what a longer text has left.
    std::fprintf(stderr, "\r[%s] %3d %%  %s\x1b[K", bar.c_str(), now, note.c_str());
  } else {
    std::fprintf(stderr, "heat: %d %%, %s\n", now, note.c_str());
  }
  std::fflush(stderr);
}

}  // namespace heat
