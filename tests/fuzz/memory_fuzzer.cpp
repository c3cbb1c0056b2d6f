// admission.json: whatever stands in it, a run reads it, adds to it, and finds what it added.
#include "device/remembered.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzzer.hpp"

namespace dovetail::fuzz {
namespace {

namespace fs = std::filesystem;

// A folder of this process, in memory where there is such a file system, that goes away with it.
struct State {
  State() {
    std::string name = fs::is_directory("/dev/shm") ? "/dev/shm/dovetail-fuzz-XXXXXX" : "/tmp/dovetail-fuzz-XXXXXX";
    folder = mkdtemp(name.data());
    setenv("XDG_STATE_HOME", folder.c_str(), 1);
    fs::create_directories(folder / "dovetail");
  }
  ~State() { fs::remove_all(folder); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  fs::path folder;
};

}  // namespace

std::vector<std::string> seeds() {
  constexpr std::size_t deep = 500'000;
  const std::string nest = repeated("[", deep) + repeated("]", deep);
  return {
      "",
      R"({"version": 1, "devices": {"a": {"at_once": 3, "mb_per_second": 250.5, "measured_read": [{"at_once": 1, "mb_per_second": 4}]}}})",
      R"({"version": 1, "devices": {"a": {"at_once": 1e300}, "b": [], "c": {"at_once": "x"}}, "other": null})",
      R"({"version": 2})",
      R"({"version": )" + nest + "}",
      R"({"version": 1, "devices": {"a": {"x": )" + nest + "}}}",
      repeated("{\"a\":", deep)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  static const fuzz::State state;
  std::ofstream(state.folder / "dovetail/admission.json", std::ios::binary) << fuzz::text_of(data, size);
  const device::Level level = device::recall_level("a");
  fuzz::require(level.rate >= 0, "no rate is negative");
  for (const device::Level& point : device::recall_curve("a", device::Direction::read)) {
    fuzz::require(point.at_once >= 1 && point.rate > 0, "a curve has points");
  }
  fuzz::require(device::remember_level("added", {2, 1}), "a level is remembered");
  fuzz::require(device::recall_level("added").at_once == 2, "what was remembered is recalled");
  return 0;
}
