// Tells from tasks that run without constraint whether they are so many that they hinder each other. Pure: no clock, no lock.
#pragma once

#include <array>
#include <limits>

namespace dovetail::admission {

class CongestionGuard {
 public:
  /// A task has ended. @param work  MB that it transferred. @param seconds  How long it took.
  /// @param device_seconds  The device's time that it had: seconds / n for the time that it was among n tasks.
  /// Returns whether it is certain by now that more tasks at once get less done, all together, than fewer did.
  bool ended(double work, double seconds, double device_seconds) noexcept;

  /// How many may run at once until more is known. A device that congests lets so few tasks end that without this it would be known too late.
  unsigned most() const noexcept { return most_; }

 private:
  static constexpr unsigned any_number = std::numeric_limits<unsigned>::max();

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
  void grow(double among) noexcept;

  unsigned most_ = any_number;
  unsigned filled_ = 0;  ///< Tasks that were among as many as may be.
};

}  // namespace dovetail::admission
