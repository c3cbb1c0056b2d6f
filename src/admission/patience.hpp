// For how long a task without constraint is kept out of a device. I/O tasks may wait for each other (at a barrier, for a message), and
// nobody says which: a limit that nobody lifted could keep the one out that all inside wait for. Pure: no clock, no lock.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace dovetail::admission {

struct Request;

/// What a task that is inside does now.
enum class Activity {
  waits,            ///< For whatever it is; it has not transferred anything.
  has_transferred,  ///< And waits, for the device or for another task.
  computes,         ///< Or spins until another task does something.
  uses_device       ///< It is in a call that waits for nothing else.
};

class Patience {
 public:
  using Look = std::function<Activity(const Request&)>;

  /// @name Of tasks with any constraint
  /// @{
  void entered(const Request& request);
  /// @param since  When it entered.
  void left(const Request& request, double since, double now) noexcept;
  /// @}

  /// Whether one more may enter, since nobody has entered or left for too long. How long that is follows from what those inside are
  /// seen to do: as long as one of them uses the device, there is an end to come.
  bool over(double now, const Look& look);
  /// Seconds from `now` after which `over` should be asked again, when it was false and still nobody has entered or left.
  double ask_after(double now) const noexcept { return ask_at_ - now; }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  void begin_anew() noexcept { kept_out_since_ = quiet_since_ = never; }

  std::vector<const Request*> inside_;
  std::size_t extra_until_ = 0;  ///< So many may be inside, whatever else is said.
  unsigned times_ = 0;           ///< How often it was over since somebody left.
  double last_over_ = -never;
  double longest_ = 0;  ///< Seconds that a task was inside, not long ago.
  double kept_out_since_ = never;
  double quiet_since_ = never;  ///< Nothing was seen of the device, nor of a core, either.
  double ask_at_ = never;
};

}  // namespace dovetail::admission
