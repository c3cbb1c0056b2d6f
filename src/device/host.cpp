#include "device/host.hpp"

#include <unistd.h>

#include <array>

namespace dovetail::device {

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace dovetail::device
