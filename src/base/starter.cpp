#include "base/starter.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace dovetail::base {
namespace {

int number_from(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  int number = -1;
  if (text == nullptr) {
    return -1;
  }
  const char* const end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, number);
  return error == std::errc() && read == end ? number : -1;
}

}  // namespace

ProcessRank rank_of_process() noexcept {
  struct Names {
    const char* rank;
    const char* size;
  };
  constexpr Names starters[] = {{"PMI_RANK", "PMI_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}};
  for (const Names& names : starters) {
    const ProcessRank found{number_from(names.rank), number_from(names.size)};
    if (found.rank >= 0 && found.rank < found.size) {
      return found;
    }
  }
  return {};
}

}  // namespace dovetail::base
