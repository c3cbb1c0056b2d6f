#include "hints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>
#include <system_error>

namespace dovetail::interpose::mpiio {
namespace {

constexpr const char* cache_name = "e10_cache";
constexpr const char* path_name = "e10_cache_path";
constexpr const char* flush_name = "e10_cache_flush_flag";
constexpr const char* discard_name = "e10_cache_discard_flag";
constexpr const char* threads_name = "e10_cache_threads";
constexpr const char* buffer_name = "ind_wr_buffer_size";
constexpr const char* stripe_name = "striping_unit";
// The thesis has none of these two.
constexpr const char* budget_name = "dovetail_tier_budget";
constexpr const char* bandwidth_name = "dovetail_drain_bandwidth";
constexpr std::array own_names = {cache_name,   path_name,   flush_name,    discard_name,
                                  threads_name, budget_name, bandwidth_name};
constexpr std::array all_names = {cache_name,  path_name,   flush_name,  discard_name,  threads_name,
                                  buffer_name, stripe_name, budget_name, bandwidth_name};
constexpr std::array own_beginnings = {"e10_", "dovetail_"};

constexpr std::array cache_values = {"disable", "enable", "coherent"};                   // as Cache
constexpr std::array flush_values = {"flush_immediate", "flush_onclose", "flush_none"};  // as Flush
constexpr std::array discard_values = {"disable", "enable"};
constexpr std::uint64_t most_threads = 64;
constexpr std::uint64_t most_buffer_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t most_budget_bytes = std::uint64_t{1} << 60;
constexpr std::uint64_t most_bandwidth = std::uint64_t{1} << 40;

// Reads the values of some names; remembers the first that cannot be used.
class Reader {
 public:
  explicit Reader(const GivenHints& given) : given_(given) {}

  template <std::size_t count>
  void choose(const char* name, const std::array<const char*, count>& values, std::size_t& chosen) {
    const std::string* const value = find(name);
    if (value == nullptr) {
      return;
    }
    const auto found = std::ranges::find(values, std::string_view(*value));
    if (found != values.end()) {
      chosen = static_cast<std::size_t>(std::distance(values.begin(), found));
      return;
    }
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
      all += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::string(values[i]);
    }
    refuse(name, *value, "its values are " + all);
  }
  std::uint64_t number(const char* name, std::uint64_t before, std::uint64_t most) {
    const std::string* const value = find(name);
    if (value == nullptr) {
      return before;
    }
    std::uint64_t read = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), read);
    if (error != std::errc() || end != value->data() + value->size() || read == 0 || read > most) {
      refuse(name, *value, "it is a number from 1 to " + std::to_string(most));
    }
    return read;
  }
  const std::string* find(const char* name) const {
    const auto found = given_.find(name);
    return found == given_.end() ? nullptr : &found->second;
  }
  void refuse(const std::string& name, const std::string& value, const std::string& why) {
    if (why_not.empty()) {
      why_not = "the hint " + name + " has no value \"" + value + "\": " + why;
    }
  }
  std::string why_not{};

 private:
  const GivenHints& given_;
};

template <class Value>
std::size_t index_of(Value value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

ReadHints read_hints(const GivenHints& given, const Hints& before) {
  Reader reader(given);
  Hints hints = before;
  std::size_t cache = index_of(before.cache);
  std::size_t flush = index_of(before.flush);
  std::size_t discard = before.discard ? 1 : 0;
  reader.choose(cache_name, cache_values, cache);
  reader.choose(flush_name, flush_values, flush);
  reader.choose(discard_name, discard_values, discard);
  hints.cache = static_cast<Cache>(cache);
  hints.flush = static_cast<Flush>(flush);
  hints.discard = discard != 0;
  hints.threads = static_cast<unsigned>(reader.number(threads_name, before.threads, most_threads));
  if (const std::string* const path = reader.find(path_name)) {
    hints.path = *path;
  }
  hints.budget_bytes = reader.number(budget_name, before.budget_bytes, most_budget_bytes);
  hints.drain_bandwidth = reader.number(bandwidth_name, before.drain_bandwidth, most_bandwidth);
  if (hints.cache != Cache::disable) {
    // Otherwise they are the MPI library's alone.
    hints.buffer_bytes = reader.number(buffer_name, before.buffer_bytes, most_buffer_bytes);
    hints.stripe_bytes = reader.number(stripe_name, before.stripe_bytes, most_buffer_bytes);
    hints.stripe_bytes = std::min(hints.stripe_bytes, hints.buffer_bytes);
    if (hints.path.empty() && reader.why_not.empty()) {
      reader.why_not = std::string("the hint ") + cache_name + " needs " + path_name + ": a folder on the local tier";
    }
  }
  return {hints, reader.why_not};
}

bool is_own_hint(const std::string& name) {
  return std::ranges::find(own_names, std::string_view(name)) != own_names.end();
}

bool is_known_hint(const std::string& name) {
  return is_own_hint(name) ||
         std::ranges::none_of(own_beginnings, [&](const char* beginning) { return name.starts_with(beginning); });
}

std::span<const char* const> read_names() { return all_names; }

std::string names_of_hints() {
  std::string all;
  for (const char* const name : own_names) {
    all += std::string(name) + ", ";
  }
  return all + buffer_name;
}

staging::TierSettings settings_of(const Hints& hints, int drains) {
  const std::uint64_t together = hints.drain_bandwidth * bytes_in_megabyte;
  const std::uint64_t each = together / static_cast<std::uint64_t>(drains);
  return {.drain = {.stripe_bytes = hints.stripe_bytes,
                    .request_bytes = hints.buffer_bytes,
                    .bytes_per_second = together == 0 ? 0 : std::max<std::uint64_t>(each, 1)},
          .budget_bytes = hints.budget_bytes,
          .shared = true};
}

GivenHints hints_in_force(const Hints& hints) {
  GivenHints shown{{cache_name, cache_values[index_of(hints.cache)]}};
  if (hints.cache != Cache::disable) {
    shown.insert({{path_name, hints.path},
                  {flush_name, flush_values[index_of(hints.flush)]},
                  {discard_name, discard_values[hints.discard ? 1 : 0]},
                  {threads_name, std::to_string(hints.threads)},
                  {buffer_name, std::to_string(hints.buffer_bytes)}});
    if (hints.budget_bytes != 0) {
      shown[budget_name] = std::to_string(hints.budget_bytes);
    }
    if (hints.drain_bandwidth != 0) {
      shown[bandwidth_name] = std::to_string(hints.drain_bandwidth);
    }
  }
  return shown;
}

}  // namespace dovetail::interpose::mpiio
