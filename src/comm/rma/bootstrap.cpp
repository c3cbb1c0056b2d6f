#include "comm/rma/bootstrap.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace dovetail::comm::rma {
namespace {

class Alone final : public Bootstrap {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::vector<std::string> exchange(const std::string& card) override { return {card}; }
};

}  // namespace

int number_from_starter(const char* variable, int least) {
  const char* const set = std::getenv(variable);
  if (set == nullptr) {
    return -1;
  }
  const std::string_view text = set;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw std::runtime_error("The starter of this process has set " + std::string(variable) + " to \"" +
                             std::string(text) + "\", which is no number that fits");
  }
  return value;
}

std::unique_ptr<Bootstrap> find_bootstrap(std::chrono::milliseconds limit) {
  if (auto found = find_pmi1_bootstrap(limit)) {
    return found;
  }
  if (auto found = find_openmpi_bootstrap(limit)) {
    return found;
  }
  return std::make_unique<Alone>();
}

}  // namespace dovetail::comm::rma
