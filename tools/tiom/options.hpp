/// @file
/// The command line.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "settings.hpp"

namespace dovetail::tiom {

/// The values that a sweep combines. One of each is a single point.
struct Grid {
  std::vector<Mode> modes;
  std::vector<Pattern> patterns;
  std::vector<std::uint64_t> blocks;
  std::vector<double> computes_ms;
  std::vector<std::uint64_t> series;
};

/// What the command line asks for.
struct Command {
  Settings settings;
  Grid grid;
  std::uint64_t operations = 0;  ///< Transfers of each point; 0: as many as the file has blocks.
  bool sweep = false;            ///< Measure every combination of the grid.
  std::string output = {};       ///< Folder of a sweep.
  std::string resume = {};       ///< Folder of a sweep to continue; nothing else counts then.
  double budget = 0;             ///< Seconds that a sweep may take; 0: as long as it takes.
  std::string curve = {};        ///< File of the device's curve; empty: measure it.
  double curve_time = 0;         ///< Seconds for measuring it; 0: as the kind of invocation needs.
  bool model = true;             ///< Compare with the model.
  double noise = 0.01;           ///< Slower by no more than this part is never called slower.
  unsigned confirm = 2;          ///< Slower points are measured again, in this many times the rounds; 0: not.
  bool plots = true;             ///< Draw the maps of a sweep.
  bool json = false;             ///< Print the result as JSON.
};

/// The command line makes no sense; `what()` says why. Exit status 2.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Understands a command line without the program's name. @returns nothing if help was asked for; it was printed then.
/// @throws UsageError.
std::optional<Command> parse_command(const std::vector<std::string>& arguments);

/// The single points of a grid, map by map: the order in which a sweep measures them.
std::vector<Point> points_of(const Grid& grid, std::uint64_t operations);

}  // namespace dovetail::tiom
