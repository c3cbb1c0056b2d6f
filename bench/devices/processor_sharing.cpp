#include "processor_sharing.hpp"

#include <algorithm>

namespace dovetail::devices {

double ProcessorSharing::speed_of_each() const {
  const auto count = static_cast<double>(ends_.size());
  return count == 0 ? 0 : law_.bandwidth(count) / count;
}

void ProcessorSharing::advance() {
  const Clock::time_point now = Clock::now();
  drained_for_each_ += std::chrono::duration<double>(now - last_).count() * speed_of_each();
  last_ = now;
}

void ProcessorSharing::drain(double bytes) {
  if (bytes <= 0) {
    return;
  }
  std::unique_lock lock(mutex_);
  advance();
  const auto self = ends_.insert(drained_for_each_ + bytes);
  most_waiting_ = std::max(most_waiting_, static_cast<unsigned>(ends_.size()));
  changed_.notify_all();  // each transfer's share is smaller now
  for (;;) {
    advance();
    if (drained_for_each_ >= *self) {
      break;
    }
    // Only the next one to be done has a time to wait for; the others hear of it.
    if (self == ends_.begin()) {
      const std::chrono::duration<double> rest((*self - drained_for_each_) / speed_of_each());
      changed_.wait_for(lock, rest);
    } else {
      changed_.wait(lock);
    }
  }
  ends_.erase(self);
  changed_.notify_all();
}

void ProcessorSharing::set_law(const CongestionLaw& law) {
  std::lock_guard lock(mutex_);
  advance();
  law_ = law;
  changed_.notify_all();
}

CongestionLaw ProcessorSharing::law() const {
  std::lock_guard lock(mutex_);
  return law_;
}

unsigned ProcessorSharing::waiting() const {
  std::lock_guard lock(mutex_);
  return static_cast<unsigned>(ends_.size());
}

unsigned ProcessorSharing::most_waiting() const {
  std::lock_guard lock(mutex_);
  return most_waiting_;
}

}  // namespace dovetail::devices
