/// @file
/// What a one-sided operation throws, or fails its task with, when another process has ended.
#pragma once

#include <stdexcept>
#include <string>

namespace dovetail::rma {

/// A process of the group has ended. `what()` names it, and what does not come or cannot be sent for this reason.
class Error : public std::runtime_error {
 public:
  /// `what` is the whole text.
  Error(const std::string& what, int rank);
  int rank() const noexcept { return rank_; }  ///< Of the process that has ended.

 private:
  int rank_;
};

}  // namespace dovetail::rma
