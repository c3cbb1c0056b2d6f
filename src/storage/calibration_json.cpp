// Curves as text. The names in it are those of the public header.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/bounded_json.hpp"
#include "base/plain_file.hpp"
#include "dovetail/device.hpp"
#include "dovetail/failure.hpp"
#include "storage/device_json.hpp"
#include "storage/whole_path.hpp"

namespace dovetail {
namespace {

using nlohmann::json;

constexpr int format_version = 1;

const char* name_of(Direction direction) noexcept { return direction == Direction::read ? "read" : "write"; }

json json_of(const CurvePoint& point) {
  return {{"direction", name_of(point.direction)},
          {"block", point.block},
          {"depth", point.depth},
          {"engine", point.engine},
          {"bytes_per_second", point.bytes_per_second},
          {"operations_per_second", point.operations_per_second},
          {"latency_median", point.latency_median},
          {"latency_p99", point.latency_p99},
          {"steady", point.steady},
          {"seconds", point.seconds}};
}

CurvePoint point_from(const json& from) {
  CurvePoint point;
  const auto direction = from.at("direction").get<std::string>();
  if (direction != "read" && direction != "write") {
    throw std::invalid_argument("direction is \"" + direction + "\": it must be read or write");
  }
  point.direction = direction == "read" ? Direction::read : Direction::write;
  point.block = from.at("block").get<std::uint64_t>();
  point.depth = from.at("depth").get<unsigned>();
  point.engine = from.at("engine").get<std::string>();
  point.bytes_per_second = from.at("bytes_per_second").get<double>();
  point.operations_per_second = from.at("operations_per_second").get<double>();
  point.latency_median = from.at("latency_median").get<double>();
  point.latency_p99 = from.at("latency_p99").get<double>();
  point.steady = from.at("steady").get<bool>();
  point.seconds = from.at("seconds").get<double>();
  if (point.block == 0 || point.depth == 0 || !(point.bytes_per_second >= 0)) {
    throw std::invalid_argument("a point has a block or a depth of 0, or a negative bandwidth");
  }
  return point;
}

}  // namespace

namespace storage {

json to_json(const dovetail::Device& device) {
  json made = {{"path", device.path},
               {"mount_point", device.mount_point},
               {"file_system", device.file_system},
               {"source", device.source},
               {"number", device.number},
               {"name", device.name},
               {"rotational", nullptr},
               {"scheduler", device.scheduler},
               {"request_bytes_max", device.request_bytes_max},
               {"request_bytes_best", device.request_bytes_best},
               {"queue_requests", device.queue_requests},
               {"direct", device.direct},
               {"direct_offset_align", device.direct_offset_align},
               {"direct_memory_align", device.direct_memory_align},
               {"in_memory", device.in_memory},
               {"network", device.network},
               {"fuse", device.fuse},
               {"loop", device.loop},
               {"backing_file", device.backing_file},
               {"read_only", device.read_only},
               {"size_bytes", device.size_bytes},
               {"free_bytes", device.free_bytes},
               {"throttle",
                {{"read_bytes_per_second", device.throttle.read_bytes_per_second},
                 {"write_bytes_per_second", device.throttle.write_bytes_per_second},
                 {"read_operations_per_second", device.throttle.read_operations_per_second},
                 {"write_operations_per_second", device.throttle.write_operations_per_second},
                 {"group", device.throttle.group}}}};
  if (device.rotational) {
    made["rotational"] = *device.rotational;
  }
  return made;
}

void from_json(const json& from, dovetail::Device& device) {
  const auto take = [&from](const char* key, auto& field) { from.at(key).get_to(field); };
  take("path", device.path);
  take("mount_point", device.mount_point);
  take("file_system", device.file_system);
  take("source", device.source);
  take("number", device.number);
  take("name", device.name);
  if (const json& rotational = from.at("rotational"); !rotational.is_null()) {
    device.rotational = rotational.get<bool>();
  }
  take("scheduler", device.scheduler);
  take("request_bytes_max", device.request_bytes_max);
  take("request_bytes_best", device.request_bytes_best);
  take("queue_requests", device.queue_requests);
  take("direct", device.direct);
  take("direct_offset_align", device.direct_offset_align);
  take("direct_memory_align", device.direct_memory_align);
  take("in_memory", device.in_memory);
  take("network", device.network);
  take("fuse", device.fuse);
  take("loop", device.loop);
  take("backing_file", device.backing_file);
  take("read_only", device.read_only);
  take("size_bytes", device.size_bytes);
  take("free_bytes", device.free_bytes);
  const json& throttle = from.at("throttle");
  throttle.at("read_bytes_per_second").get_to(device.throttle.read_bytes_per_second);
  throttle.at("write_bytes_per_second").get_to(device.throttle.write_bytes_per_second);
  throttle.at("read_operations_per_second").get_to(device.throttle.read_operations_per_second);
  throttle.at("write_operations_per_second").get_to(device.throttle.write_operations_per_second);
  throttle.at("group").get_to(device.throttle.group);
}

json to_json(const DeviceCurve& curve) {
  json points = json::array();
  for (const CurvePoint& point : curve.points) {
    points.push_back(json_of(point));
  }
  return {{"format", format_version},   {"device", to_json(curve.device)}, {"engine", curve.engine},
          {"direct", curve.direct},     {"sequential", curve.sequential},  {"file_bytes", curve.file_bytes},
          {"complete", curve.complete}, {"steady", curve.steady},          {"points", std::move(points)},
          {"notes", curve.notes}};
}

}  // namespace storage

std::string DeviceCurve::to_json() const {
  // Paths need not be UTF-8; what is not is replaced.
  return storage::to_json(*this).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

DeviceCurve DeviceCurve::from_json(std::string_view text) {
  try {
    const json from = base::parse_bounded_json(text);
    if (const int version = from.at("format").get<int>(); version != format_version) {
      throw std::invalid_argument("it has format " + std::to_string(version) + ", this is for format " +
                                  std::to_string(format_version));
    }
    DeviceCurve curve;
    storage::from_json(from.at("device"), curve.device);
    from.at("engine").get_to(curve.engine);
    from.at("direct").get_to(curve.direct);
    from.at("sequential").get_to(curve.sequential);
    from.at("file_bytes").get_to(curve.file_bytes);
    from.at("complete").get_to(curve.complete);
    from.at("steady").get_to(curve.steady);
    from.at("notes").get_to(curve.notes);
    for (const json& point : from.at("points")) {
      curve.points.push_back(point_from(point));
    }
    return curve;
  } catch (const json::exception& error) {
    throw std::invalid_argument(std::string("this is no curve of a device: ") + error.what());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("this is no curve of a device: ") + error.what());
  }
}

void DeviceCurve::save(const std::string& path) const {
  storage::require_whole_path(path, "save");
  const std::string text = to_json();
  const base::WriteFailure failure = base::replace_plain_file(path, text);
  if (failure.error != 0) {
    throw IoError(failure.error, failure.operation, path, failure.offset, text.size() - failure.offset);
  }
}

DeviceCurve DeviceCurve::load(const std::string& path) {
  storage::require_whole_path(path, "load");
  constexpr std::size_t most_bytes = 16 << 20;
  const base::FileText read =
      base::read_plain_file(path, {.follow_links = true, .of_anyone = true, .most_bytes = most_bytes});
  if (read.error != 0) {
    throw IoError(read.error, "open", path, 0, 0);
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

}  // namespace dovetail
