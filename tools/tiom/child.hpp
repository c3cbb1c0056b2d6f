/// @file
/// This program again, as a process of its own: what one point does to the process does not affect the next one.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dovetail::tiom {

/// How a child ended.
struct ChildResult {
  int status = 0;           ///< Exit status; 128 and the signal if one ended it.
  std::string output = {};  ///< Its standard output.
  std::string errors = {};  ///< Its standard error.
  bool timed_out = false;   ///< It was killed after `seconds`.
};

/// Runs this program with `arguments`. `tick` is called several times a second; if it returns false, the child is killed.
/// The child dies with this process, however that ends. @throws std::system_error.
ChildResult run_child(const std::vector<std::string>& arguments, double seconds, const std::function<bool()>& tick);

}  // namespace dovetail::tiom
