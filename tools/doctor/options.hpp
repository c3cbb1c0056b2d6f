// The command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dovetail::doctor {

struct DoctorOptions {
  std::vector<std::string> paths = {};  // Empty: the current folder, the temporary one, and what is mounted.
  bool measure = true;
  bool json = false;
  std::string engine = "auto";
  std::vector<std::uint64_t> blocks = {4096, 131072};
  std::vector<unsigned> depths = {1, 4, 16, 64};
  std::chrono::milliseconds point_limit{150};
  std::chrono::milliseconds total_limit{6000};
};

/// @returns nothing if the program is to end with `status`: help was printed, or the message about a mistake.
std::optional<DoctorOptions> parse(int count, char** arguments, int& status);

}  // namespace dovetail::doctor
