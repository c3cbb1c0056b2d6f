#include "meter.hpp"

namespace heat {

// Under the lock: what went on until now is added up, then `count` changes.
void Meter::change(unsigned& count, int by) {
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = now - changed_;
  compute_ += passed * static_cast<int>(computing_);
  busy_ += in_flight_ > 0 ? passed : Clock::duration(0);
  hidden_ += in_flight_ > 0 && computing_ > 0 ? passed : Clock::duration(0);
  changed_ = now;
  count += static_cast<unsigned>(by);
}

void Meter::begin_compute() {
  const std::lock_guard lock(mutex_);
  change(computing_, 1);
}

void Meter::end_compute() {
  const std::lock_guard lock(mutex_);
  change(computing_, -1);
}

void Meter::begin_io() {
  const std::lock_guard lock(mutex_);
  change(in_flight_, 1);
}

void Meter::end_io(std::uint64_t written) {
  const std::lock_guard lock(mutex_);
  written_ += written;
  change(in_flight_, -1);
}

double Meter::seconds(const Clock::duration& time) const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(time).count();
}

std::uint64_t Meter::bytes_written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

}  // namespace heat
