// The hints of a file: those of G. Congiu's thesis, table 4.2, by name and meaning.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "staging/tier_settings.hpp"

namespace dovetail::interpose::mpiio {

/// As they are given: by name.
using GivenHints = std::map<std::string, std::string>;

inline constexpr std::uint64_t bytes_in_megabyte = 1'000'000;

enum class Cache : std::uint8_t { disable, enable, coherent };
enum class Flush : std::uint8_t { immediate, on_close, none };

struct Hints {
  Cache cache = Cache::disable;
  std::string path{};  ///< Of the tier.
  Flush flush = Flush::immediate;
  bool discard = true;  ///< The folder is removed when the file is closed, once it is drained.
  unsigned threads = 1;
  std::uint64_t buffer_bytes = std::uint64_t{1} << 20;  ///< Of a request of the drain.
  std::uint64_t stripe_bytes = std::uint64_t{1} << 20;  ///< No request has parts of two requests' stripes.
  std::uint64_t budget_bytes = 0;                       ///< Of the tier. 0: as the environment says.
  std::uint64_t drain_bandwidth = 0;                    ///< MB/s, of all ranks. 0: likewise.
};

struct ReadHints {
  Hints hints;
  std::string why_not;  ///< Empty: they can be used. Else a sentence.
};
/// Those that are not named in `given` have the values of `before`. Other hints are the MPI library's.
ReadHints read_hints(const GivenHints& given, const Hints& before = {});

/// Whether it is one of those above that the MPI library does not know.
bool is_own_hint(const std::string& name);
/// Whether it is the name of one of these hints, or not for Dovetail at all.
bool is_known_hint(const std::string& name);
/// All that `read_hints` looks at.
std::span<const char* const> read_names();
/// Names of all of them, for messages.
std::string names_of_hints();
/// Of a log of one of several ranks. `drains`: so many go on at the same time, and share what they may write.
staging::TierSettings settings_of(const Hints& hints, int drains = 1);
/// What is in force, for the program that asks.
GivenHints hints_in_force(const Hints& hints);

}  // namespace dovetail::interpose::mpiio
