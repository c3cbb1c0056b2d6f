#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text.hpp"

namespace dovetail::tiom {
namespace {

constexpr std::size_t bar_width = 24;

std::size_t columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::show(const std::string& text, double part, double seconds_left) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < (terminal_ ? std::chrono::nanoseconds(100ms) : std::chrono::nanoseconds(30s))) {
    return;
  }
  shown_ = now;
  part = std::clamp(part, 0.0, 1.0);
  char percent[8];
  std::snprintf(percent, sizeof(percent), "%3.0f%%", std::floor(part * 100));
  std::string left = percent;
  if (seconds_left >= 0) {
    left += "  " + duration_text(seconds_left) + " left";
  }
  if (!terminal_) {
    std::fprintf(stderr, "%s  %s\n", left.c_str(), text.c_str());
    return;
  }
  const auto full = static_cast<std::size_t>(part * bar_width);
  std::string line = "[" + std::string(full, '#') + std::string(bar_width - full, '.') + "] " + left + "  " + text;
  line.resize(std::min(line.size(), columns() - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::line(const std::string& text) {
  std::fprintf(stderr, "%s%s\n", drawn_ ? "\r\033[K" : "", text.c_str());
  drawn_ = false;
}

}  // namespace dovetail::tiom
