#include "comm/mpi/attempts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dovetail::comm::mpi {
namespace {

// In one look, however many there are.
constexpr std::size_t most_tried = 16;

bool try_once(Operation& operation) noexcept {
  operation.request = {};
  operation.code = operation.start.function(operation.start.closure.data(), operation.request.data());
  bool ended = false;
  std::memcpy(&ended, operation.request.data(), sizeof ended);
  return ended || operation.code != 0;
}

}  // namespace

bool Attempts::add(Operation* operation) {
  if (try_once(*operation)) {
    return true;
  }
  operations_.push_back(operation);
  return false;
}

Operation* Attempts::ask() noexcept {
  Operation* ended = nullptr;
  for (std::size_t tried = std::min(most_tried, size()); tried > 0; --tried) {
    next_ = next_ < size() ? next_ : 0;
    Operation* const operation = operations_[next_];
    if (try_once(*operation)) {
      operations_[next_] = operations_.back();
      operations_.pop_back();
      operation->next = std::exchange(ended, operation);
    } else {
      ++next_;
    }
  }
  return ended;
}

}  // namespace dovetail::comm::mpi
