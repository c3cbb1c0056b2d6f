#include "comm/mpi/attempts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dovetail::comm::mpi {
namespace {

// Each is a call of MPI of its own, where 64 requests are asked in one.
constexpr std::size_t tried_in_a_look = 16;

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

Operation* Attempts::ask(Looks& looks) noexcept {
  Operation* ended = nullptr;
  const std::size_t tried = std::min(looks.allowed * tried_in_a_look, size());
  looks.took(static_cast<unsigned>((tried + tried_in_a_look - 1) / tried_in_a_look));
  for (std::size_t left = tried; left > 0; --left) {
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
