#include "device/json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/bounded_json.hpp"
#include "base/plain_file.hpp"
#include "device/failure.hpp"

// An unknown value is null.
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(json& to, const std::optional<Value>& value) { to = value ? json(*value) : json(nullptr); }
  static void from_json(const json& from, std::optional<Value>& value) {
    value = from.is_null() ? std::nullopt : std::optional<Value>(from.get<Value>());
  }
};

namespace dovetail::device {
namespace {

using nlohmann::json;

constexpr int format_version = 1;

}  // namespace

void to_json(json& to, const Direction& direction) { to = name_of(direction); }

void from_json(const json& from, Direction& direction) {
  const auto name = from.get<std::string>();
  if (name != "read" && name != "write") {
    throw std::invalid_argument("direction is \"" + name + "\": it must be read or write");
  }
  direction = name == "read" ? Direction::read : Direction::write;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Throttle, read_bytes_per_second, write_bytes_per_second, read_operations_per_second,
                                   write_operations_per_second, group)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CurvePoint, direction, block, depth, engine, bytes_per_second, operations_per_second,
                                   latency_median, latency_p99, steady, seconds)

#define DOVETAIL_FACTS                                                                                                \
  path, mount_point, file_system, source, number, name, rotational, scheduler, request_bytes_max, request_bytes_best, \
      queue_requests, direct, direct_offset_align, direct_memory_align, in_memory, network, fuse, loop, backing_file, \
      read_only, size_bytes, free_bytes, throttle
#define DOVETAIL_CURVE device, engine, direct, sequential, file_bytes, complete, steady, points, notes
#define DOVETAIL_TO(member) to[#member] = value.member;
#define DOVETAIL_FROM(member) from.at(#member).get_to(value.member);

void to_json(json& to, const Facts& value) { NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DOVETAIL_TO, DOVETAIL_FACTS)) }
void from_json(const json& from, Facts& value) {
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DOVETAIL_FROM, DOVETAIL_FACTS))
}

void to_json(json& to, const Curve& value) {
  to["format"] = format_version;
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DOVETAIL_TO, DOVETAIL_CURVE))
}

void from_json(const json& from, Curve& value) {
  if (const int version = from.at("format").get<int>(); version != format_version) {
    throw std::invalid_argument("it has format " + std::to_string(version) + ", this is for format " +
                                std::to_string(format_version));
  }
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(DOVETAIL_FROM, DOVETAIL_CURVE))
  for (const CurvePoint& point : value.points) {
    if (point.block == 0 || point.depth == 0 || !(point.bytes_per_second >= 0)) {
      throw std::invalid_argument("a point has a block or a depth of 0, or a negative bandwidth");
    }
  }
}

std::string Curve::to_json() const {
  // Paths need not be UTF-8; what is not is replaced.
  return json(*this).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Curve Curve::from_json(std::string_view text) {
  try {
    return base::parse_bounded_json(text).get<Curve>();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::invalid_argument(std::string("this is no curve of a device: ") + error.what());
  }
}

void Curve::save(const std::string& path) const {
  require_whole_path(path, "save");
  const std::string text = to_json();
  const base::WriteFailure failure = base::replace_plain_file(path, text);
  if (failure.error != 0) {
    fail(failure.error, failure.operation, path, failure.offset, text.size() - failure.offset);
  }
}

Curve Curve::load(const std::string& path) {
  require_whole_path(path, "load");
  constexpr std::size_t most_bytes = 16 << 20;
  const base::FileText read =
      base::read_plain_file(path, {.follow_links = true, .of_anyone = true, .most_bytes = most_bytes});
  if (read.error != 0) {
    fail(read.error, "open", path);
  }
  if (!read.why.empty()) {
    throw std::invalid_argument(path + ": " + read.why);
  }
  try {
    return from_json(read.text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

}  // namespace dovetail::device
