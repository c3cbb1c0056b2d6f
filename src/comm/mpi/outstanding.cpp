#include "comm/mpi/outstanding.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <utility>

#include "comm/mpi/library.hpp"

namespace dovetail::comm::mpi {
namespace {

// A poll asks so many in rotation while each finds something, even if fewer looks are allowed.
constexpr std::size_t windows_that_find = 7;

}  // namespace

void Outstanding::add(const Library& library, Operation* operation) noexcept {
  if (!has_place_for_one(library.request_size())) [[unlikely]] {
    operation->next = std::exchange(without_place_, operation);
    return;
  }
  const std::byte* const request = operation->request.data();
  requests_.insert(requests_.end(), request, request + library.request_size());
  operations_.push_back(operation);
}

// MPI has the request already, and perhaps the buffer: the operation can neither be refused nor forgotten.
bool Outstanding::has_place_for_one(std::size_t size_of_request) noexcept {
  if (operations_.size() < operations_.capacity() && requests_.size() + size_of_request <= requests_.capacity()) {
    return true;
  }
  try {
    const std::size_t more = std::max(window, 2 * operations_.size());
    operations_.reserve(more);
    requests_.reserve(more * size_of_request);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Operation* Outstanding::ask(Library& library, Looks& looks) noexcept {
  Ended ended;
  if (without_place_ != nullptr) [[unlikely]] {
    ask_those_without_place(library, ended);
  }
  const std::size_t all = size();
  ask_window(library, all > window ? all - window : 0, ended);
  const std::size_t most = std::max<std::size_t>(windows_that_find, looks.allowed);
  std::size_t asked = 0;
  for (std::size_t found = 1; asked < most && (asked + 1) * window < all && size() > 0; ++asked) {
    if (found == 0 && asked >= looks.allowed) {
      break;
    }
    const std::size_t before = ended.count;
    next_ = next_ < size() ? next_ : 0;
    ask_window(library, next_, ended);
    found = ended.count - before;
    next_ += window - found;  // others, that were not asked, have taken the places of those
  }
  looks.took(static_cast<unsigned>(asked));
  return ended.first;
}

Operation* Outstanding::ask_newest(Library& library, std::size_t count) noexcept {
  Ended ended;
  ask_window(library, size() - std::min({count, window, size()}), ended);
  return ended.first;
}

Operation* Outstanding::take_all() noexcept {
  Operation* first = nullptr;
  for (Operation* operation : operations_) {
    operation->next = std::exchange(first, operation);
  }
  operations_.clear();
  requests_.clear();
  return move_to_front(first, std::exchange(without_place_, nullptr));
}

void Outstanding::ask_those_without_place(Library& library, Ended& ended) noexcept {
  for (Operation* operation = std::exchange(without_place_, nullptr); operation != nullptr;) {
    Operation* const next = operation->next;
    unsigned place = 0;
    if (library.test(operation->request.data(), std::span(&operation, 1), &place) > 0) {
      operation->next = std::exchange(ended.first, operation);
      ++ended.count;
    } else {
      add(library, operation);
    }
    operation = next;
  }
}

void Outstanding::ask_window(Library& library, std::size_t begin, Ended& ended) noexcept {
  const std::size_t count = std::min(window, size() - begin);
  if (count == 0) {
    return;
  }
  const std::size_t size_of_request = library.request_size();
  std::array<unsigned, window> places;
  const std::size_t found = library.test(requests_.data() + begin * size_of_request,
                                         std::span(operations_).subspan(begin, count), places.data());
  // From the end: the last one takes the place of the one that goes.
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(found), std::greater<>());
  for (std::size_t i = 0; i < found; ++i) {
    Operation* const operation = operations_[begin + places[i]];
    operation->next = std::exchange(ended.first, operation);
    ++ended.count;
    take_out(begin + places[i], size_of_request);
  }
}

void Outstanding::take_out(std::size_t place, std::size_t size_of_request) noexcept {
  const std::size_t last = size() - 1;
  if (place != last) {
    operations_[place] = operations_[last];
    std::memcpy(requests_.data() + place * size_of_request, requests_.data() + last * size_of_request, size_of_request);
  }
  operations_.pop_back();
  requests_.resize(last * size_of_request);
}

}  // namespace dovetail::comm::mpi
