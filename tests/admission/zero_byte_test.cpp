// A device or a file of settings whose name contains a zero byte is refused, not taken for what the name is before it.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dovetail/dovetail.hpp"

namespace dovetail::test {
namespace {

using namespace std::string_literals;

std::string refusal(const std::function<void()>& door) {
  try {
    door();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ZeroByte, IsRefusedInNamesOfDevicesAndOfSettings) {
  const std::string folder = ".\0behind"s;
  EXPECT_NE(refusal([&] { storage_devices(folder); }).find(".\\0behind"), std::string::npos);
  EXPECT_NE(refusal([&] { storage_device(folder); }).find(".\\0behind"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::test
