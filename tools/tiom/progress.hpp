/// @file
/// A bar with the time left, on a terminal; elsewhere a line now and then.
#pragma once

#include <chrono>
#include <string>

namespace dovetail::tiom {

/// Shows how far a sweep is. Writes to standard error; one thread.
class Progress {
 public:
  Progress();
  /// Ends the line of the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `part` of the work, from 0 to 1, is done; `seconds_left` less than 0 is not known. Shown if it is time to.
  void show(const std::string& text, double part, double seconds_left);
  /// Prints a line of its own above the bar.
  void line(const std::string& text);

 private:
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point shown_ = {};
};

}  // namespace dovetail::tiom
