// Curves of devices: what is read says the same when it has been written and read again.
#include <cmath>
#include <stdexcept>

#include "device/curve.hpp"
#include "fuzzer.hpp"

namespace dovetail::fuzz {

using namespace device;

std::vector<std::string> seeds() {
  Curve curve;
  curve.device.path = "/some \"where\"";
  curve.engine = "auto";
  curve.notes = {"a note"};
  for (const std::uint64_t block : {4096, 65536}) {
    for (const unsigned depth : {1U, 16U}) {
      CurvePoint point;
      point.block = block;
      point.depth = depth;
      point.engine = "uring";
      point.bytes_per_second = 1e6 * depth;
      curve.points.push_back(point);
    }
  }
  const std::string text = curve.to_json();
  constexpr std::size_t deep = 500'000;
  return {text, "{}", text.substr(0, text.size() / 2),
          "{\"format\": " + repeated("[", deep) + repeated("]", deep) + "}", repeated("[", deep)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  using namespace dovetail::device;
  try {
    const Curve curve = Curve::from_json(fuzz::text_of(data, size));
    const std::string text = curve.to_json();
    fuzz::require(Curve::from_json(text).to_json() == text, "a curve comes back from its text");
    for (const Direction direction : {Direction::read, Direction::write}) {
      if (curve.has(direction)) {
        const double rate = curve.bytes_per_second(direction, 10'000, 3);
        fuzz::require(!std::isnan(rate) && rate >= 0, "a rate is a number that is not negative");
      }
    }
  } catch (const std::invalid_argument&) {
    return 0;
  }
  return 0;
}
