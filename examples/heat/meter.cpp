#include "meter.hpp"

namespace heat {

void Meter::begin_io() {
  const std::lock_guard lock(mutex_);
  if (in_flight_++ == 0) {
    busy_since_ = Clock::now();
  }
}

void Meter::end_io(std::uint64_t written) {
  const std::lock_guard lock(mutex_);
  written_ += written;
  if (--in_flight_ == 0) {
    busy_ += Clock::now() - busy_since_;
  }
}

double Meter::compute_seconds() const noexcept {
  return static_cast<double>(compute_.load(std::memory_order_relaxed)) * 1e-9;
}

double Meter::io_seconds() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(busy_).count();
}

std::uint64_t Meter::bytes_written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

}  // namespace heat
