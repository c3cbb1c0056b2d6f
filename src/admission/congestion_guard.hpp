// How many tasks without constraint may use a device, until they are so many that more get nothing more done. Pure: no clock, no lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace dovetail::admission {

class CongestionGuard {
 public:
  /// Where it begins; the number grows with each call, or stays.
  void begin_with(unsigned most) noexcept { most_ = std::max(most_, most); }

  /// A task has ended. @param work  MB that it transferred. @param seconds  How long it took.
  /// @param device_seconds  The device's time that it had: seconds / n for the time that it was among n tasks.
  /// Returns whether it is known by now that more tasks at once get nothing more done, all together, than fewer did, or less.
  bool ended(double work, double seconds, double device_seconds) noexcept;

  /// How many may run at once until more is known. A device that congests lets so few tasks end that without this it would be known too late.
  unsigned most() const noexcept { return most_; }

 private:
  /// Tasks that were among a similar number.
  struct Group {
    double work = 0;
    double device_seconds = 0;
    unsigned count = 0;
    bool known() const noexcept;
    double rate() const noexcept { return work / device_seconds; }
  };
  // Two for each doubling, up to 4096 at once.
  std::array<Group, 25> groups_;
  bool gained(std::size_t place) const noexcept;
  bool congests(std::size_t place) const noexcept;

  unsigned most_ = 0;
  unsigned filled_ = 0;  ///< Tasks that were among as many as may be.
};

}  // namespace dovetail::admission
