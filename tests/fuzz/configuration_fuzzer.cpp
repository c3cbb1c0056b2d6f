// dovetail.toml: whatever stands in it, it is understood or refused with a message.
#include "device/configuration.hpp"

#include <stdexcept>

#include "fuzzer.hpp"

namespace dovetail::fuzz {

std::vector<std::string> seeds() {
  const std::string dots = repeated(".a", 100'000);
  return {
      "",
      "[[device]]\nname = \"scratch\"\npaths = [\"/scratch\", \"local\"]\nread = 450\nwrite = 400.5\nshared = true\n"
      "most_at_once = 12\n[[device]]\nname = 'nvme'\n",
      "device = [{name = \"a\", paths = [\"/\"]}]\n[other.part]\nx = 1979-05-27T07:32:00Z\ny = \"\"\"\nlong\"\"\"\n",
      "[=a]\n",
      "[[ #\n",
      "a" + dots + " = 1\n",
      "[a" + dots + "]\n",
      "a = {a" + dots + " = 1}\n",
      "a = " + repeated("[", 50'000),
      "a = " + repeated("{a.a.a.a.a.a.a.a=[\n", 2'000)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  try {
    for (const StorageDevice& device : device::parse_configuration("/f/dovetail.toml", fuzz::text_of(data, size))) {
      fuzz::require(!device.name.empty(), "a device has a name");
      fuzz::require(device.name.find('/') == std::string::npos, "a name is no path");
      fuzz::require(device.read_mb_per_second >= 0 && device.write_mb_per_second >= 0, "no rate is negative");
      for (const std::string& path : device.paths) {
        fuzz::require(path.starts_with('/'), "paths are absolute");
      }
    }
  } catch (const std::invalid_argument& error) {
    fuzz::require(std::string_view(error.what()).find("dovetail.toml") != std::string_view::npos,
                  "a refusal names the file");
  }
  return 0;
}
