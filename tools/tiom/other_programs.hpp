/// @file
/// Whether other programs used the machine meanwhile.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dovetail::tiom {

/// Other programs had more than this of the cores: then figures are theirs, too.
constexpr double notable_others = 0.1;
/// A variant was better than the model allows by so much: then the model was measured under other conditions.
constexpr double impossible_efficiency = 1.1;

/// From its construction on: how much of all cores was used by anything but this process and its ended children. One thread.
class OtherPrograms {
 public:
  OtherPrograms();
  /// 0 to 1; 0 where the system does not tell.
  double share() const;

 private:
  double used_;
  double own_;
  std::chrono::steady_clock::time_point start_;
};

/// What must be said of the result of a point before its figures are believed; a line for each, or nothing.
std::string doubts_of(const nlohmann::json& result);

}  // namespace dovetail::tiom
