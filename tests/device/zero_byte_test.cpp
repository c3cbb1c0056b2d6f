// A device or a file of settings whose name contains a zero byte is refused, not taken for what the name is before it.
// One thread.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "device/measure.hpp"
#include "dovetail/device.hpp"

namespace dovetail::test {
namespace {

using namespace std::string_literals;

template <class Error>
std::string refusal(const std::function<void()>& door) {
  try {
    door();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ZeroByte, IsRefusedInNamesOfDevicesAndOfSettings) {
  const std::string folder = ".\0behind"s;
  EXPECT_NE(refusal<std::invalid_argument>([&] { storage_devices(folder); }).find(".\\0behind"), std::string::npos);
  EXPECT_NE(refusal<std::invalid_argument>([&] { storage_device(folder); }).find(".\\0behind"), std::string::npos);
}

TEST(ZeroByte, IsRefusedInPathsOfWhatIsMeasured) {
  using namespace device;
  const std::string path = ".\0behind"s;
  const std::function<void()> doors[] = {[&] { facts_of(path); }, [&] { measure(path); }, [&] { Curve().save(path); },
                                         [&] { Curve::load(path); }};
  for (const auto& door : doors) {
    EXPECT_NE(refusal<std::system_error>(door).find(".\\0behind"), std::string::npos)
        << refusal<std::system_error>(door);
  }
}

}  // namespace
}  // namespace dovetail::test
