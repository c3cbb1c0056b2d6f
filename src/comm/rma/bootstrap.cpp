#include "comm/rma/bootstrap.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "comm/rma/gaspi.hpp"

namespace dovetail::comm::rma {
namespace {

class Alone final : public Bootstrap {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::vector<std::string> exchange(const std::string& card) override { return {card}; }
};

bool has_starter() {
  return std::getenv("PMI_FD") != nullptr || std::getenv("OMPI_COMM_WORLD_RANK") != nullptr || is_started_by_gaspi();
}

// The child of a fork has a copy of the connection to the starter. It would speak as its parent.
void require_rank_of_own() {
  static constinit std::atomic<pid_t> owner{0};
  pid_t first = 0;
  if (!owner.compare_exchange_strong(first, getpid()) && first != getpid() && has_starter()) {
    throw std::runtime_error("This process is the child of a rank (process " + std::to_string(first) +
                             "), which has started a group. A rank is one process");
  }
}

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
  require_rank_of_own();
  if (auto found = find_pmi1_bootstrap(limit)) {
    return found;
  }
  std::string why_not_mpi;
  if (auto found = find_mpi_bootstrap(limit, why_not_mpi)) {
    return found;
  }
  if (auto found = find_openmpi_bootstrap(limit, why_not_mpi)) {
    return found;
  }
  if (auto found = find_gaspi_bootstrap(limit)) {
    return found;
  }
  return std::make_unique<Alone>();
}

}  // namespace dovetail::comm::rma
