// The placement of a folder of the local tier, as others may have written it. What is taken for one is one that could have been written.
#include "staging/placement.hpp"

#include <cstdio>
#include <span>

#include "fuzzer.hpp"

std::vector<std::string> dovetail::fuzz::seeds() {
  const auto behind_checksum = [](const std::string& path) {
    const staging::Placement placement{
        .final_path = path, .final_file = {.inode = 7, .born_seconds = -1, .born_nanoseconds = 999}, .log = 0xfeed};
    const std::string text = staging::text_of(placement);
    return text.substr(text.find('\n') + 1);
  };
  return {"", behind_checksum("/a"), behind_checksum("/a\nb\xff"), behind_checksum(std::string(4000, '/'))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  const std::string_view input = fuzz::text_of(data, size);
  staging::placement_of(input);
  // No fuzzer guesses a checksum.
  char first[40];
  std::snprintf(first, sizeof first, "checksum %016llx\n",
                static_cast<unsigned long long>(staging::checksum_of(std::as_bytes(std::span(input)), 0)));
  const auto placement = staging::placement_of(first + std::string(input));
  if (placement) {
    fuzz::require(placement->final_path.starts_with('/'), "a path is absolute");
    fuzz::require(placement->final_path.find('\0') == std::string::npos, "a path has no NUL");
    fuzz::require(staging::placement_of(staging::text_of(*placement)) == placement, "it is read as it was written");
  }
  return 0;
}
