/// @file
/// What is measured: the words of the command line, as types.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dovetail::tiom {

/// How computation and I/O follow each other in a series (the TASIO paper (docs/papers.md), section 5.1).
enum class Mode : std::uint8_t {
  mix,         ///< Each task computes, then transfers.
  one_to_one,  ///< A task computes, the next one transfers.
  fjio,        ///< One task computes, then four transfer side by side.
  fjc,         ///< Four tasks compute side by side, then one transfers.
};

/// What runs the series, and how it transfers.
enum class Variant : std::uint8_t {
  standalone,   ///< Tasks with plain `pread` and `pwrite`: the core waits.
  threads,      ///< A thread for each series, without tasks; plain calls, one after the other.
  blocking,     ///< The task pauses, the core does not.
  nonblocking,  ///< The transfer is bound to the task, which returns at once.
  openmp,       ///< OpenMP tasks with `detach`, through `dovetail_omp.h`.
};

/// Which blocks, and which way.
enum class Pattern : std::uint8_t {
  sequential_read,
  sequential_write,
  random_read,
  random_write,
};

/// Tasks side by side in the forks of `fjio` and `fjc`.
inline constexpr std::uint64_t fork_width = 4;

constexpr bool reads(Pattern pattern) { return pattern == Pattern::sequential_read || pattern == Pattern::random_read; }
constexpr bool is_random(Pattern pattern) {
  return pattern == Pattern::random_read || pattern == Pattern::random_write;
}
/// Computations for each transfer are `first` to `second`: 1 to 1, 1 to 4 or 4 to 1.
constexpr std::uint64_t transfers_per_round(Mode mode) { return mode == Mode::fjio ? fork_width : 1; }
constexpr std::uint64_t computations_per_round(Mode mode) { return mode == Mode::fjc ? fork_width : 1; }

/// Without Dovetail's I/O: what the other variants are compared with.
constexpr bool is_plain(Variant variant) { return variant == Variant::standalone || variant == Variant::threads; }

/// @name Words of the command line
/// The inverse throws `std::invalid_argument` that lists the words there are.
/// @{
std::string name_of(Mode mode);
std::string name_of(Variant variant);
std::string name_of(Pattern pattern);
Mode mode_of(const std::string& name);
Variant variant_of(const std::string& name);
Pattern pattern_of(const std::string& name);
/// @}

/// One configuration of the benchmark.
struct Point {
  Mode mode = Mode::mix;
  Pattern pattern = Pattern::random_write;
  std::uint64_t block = 131072;  ///< Bytes of a transfer.
  double compute_ms = 1;         ///< Milliseconds of one computation, as calibrated.
  std::uint64_t series = 0;      ///< Chains of tasks that may run side by side.
  std::uint64_t operations = 0;  ///< Transfers in all; more than the file has blocks: the file is passed again.

  friend bool operator==(const Point&, const Point&) = default;
};

/// What all points of one invocation share.
struct Settings {
  std::string file = {};               ///< Path of the file that is transferred.
  std::uint64_t size = 64ULL << 20;    ///< Bytes of that file.
  bool direct = true;                  ///< Past the page cache, as in the paper on TASIO (docs/papers.md, section 4.3).
  std::string engine = {};             ///< Storage engine of Dovetail; empty: as `Options::engine`.
  unsigned workers = 0;                ///< Worker threads.
  double time_limit = 60;              ///< Seconds after which a run starts no more work (section 5.3).
  unsigned rounds = 4;                 ///< Turns of each variant (section 5.3).
  std::uint64_t seed = 1;              ///< Of the random order of blocks.
  double iterations_per_ms = 0;        ///< Calibration of the computation; 0: not calibrated yet.
  bool verify = false;                 ///< Check every byte that was read or written.
  bool overwrite = false;              ///< Use the file even if something else is in it.
  std::vector<Variant> variants = {};  ///< In the order of their turns.
};

void to_json(nlohmann::json& json, const Point& point);
void from_json(const nlohmann::json& json, Point& point);
void to_json(nlohmann::json& json, const Settings& settings);
void from_json(const nlohmann::json& json, Settings& settings);

}  // namespace dovetail::tiom
