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

bool Attempts::add(Operation* operation) noexcept {
  if (try_once(*operation)) {
    return true;
  }
  append(operation);
  return false;
}

Operation* Attempts::ask() noexcept {
  Operation* ended = nullptr;
  for (std::size_t tried = std::min(most_tried, size()); tried > 0; --tried) {
    Operation* const operation = take_first();
    if (try_once(*operation)) {
      operation->next = std::exchange(ended, operation);
    } else {
      append(operation);
    }
  }
  return ended;
}

void Attempts::append(Operation* operation) noexcept {
  operation->next = nullptr;
  (last_ != nullptr ? last_->next : first_) = operation;
  last_ = operation;
  ++size_;
}

Operation* Attempts::take_first() noexcept {
  Operation* const operation = std::exchange(first_, first_->next);
  last_ = first_ != nullptr ? last_ : nullptr;
  --size_;
  return operation;
}

}  // namespace dovetail::comm::mpi
