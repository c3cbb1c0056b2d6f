#include "comm/mpi/outstanding.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "comm/mpi/library.hpp"

namespace dovetail::comm::mpi {
namespace {

// In one look, if each of them found something.
constexpr std::size_t most_windows = 8;

}  // namespace

void Outstanding::add(const Library& library, Operation* operation) {
  size_of_request_ = library.request_size();
  operations_.reserve(operations_.size() + 1 > operations_.capacity() ? 2 * operations_.size() + window : 0);
  requests_.resize((operations_.size() + 1) * size_of_request_);
  std::memcpy(requests_.data() + operations_.size() * size_of_request_, operation->request.data(), size_of_request_);
  operations_.push_back(operation);
}

Operation* Outstanding::ask(Library& library) noexcept {
  Ended ended;
  const std::size_t all = size();
  ask_window(library, all > window ? all - window : 0, ended);
  for (std::size_t asked = 1; asked < most_windows && asked * window < all && !empty(); ++asked) {
    const std::size_t before = ended.count;
    next_ = next_ < size() ? next_ : 0;
    ask_window(library, next_, ended);
    const std::size_t found = ended.count - before;
    next_ += window - found;  // others, that were not asked, have taken the places of those
    if (found == 0) {
      break;
    }
  }
  return ended.first;
}

Operation* Outstanding::ask_newest(Library& library, std::size_t count) noexcept {
  Ended ended;
  ask_window(library, size() - std::min(count, window), ended);
  return ended.first;
}

Operation* Outstanding::take_all() noexcept {
  Operation* first = nullptr;
  for (Operation* operation : operations_) {
    operation->next = std::exchange(first, operation);
  }
  operations_.clear();
  requests_.clear();
  return first;
}

void Outstanding::ask_window(Library& library, std::size_t begin, Ended& ended) noexcept {
  const std::size_t count = std::min(window, size() - begin);
  if (count == 0) {
    return;
  }
  std::array<unsigned, window> places;
  const std::size_t found = library.test(requests_.data() + begin * size_of_request_,
                                         std::span(operations_).subspan(begin, count), places.data());
  // From the end: the last one takes the place of the one that goes.
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(found), std::greater<>());
  for (std::size_t i = 0; i < found; ++i) {
    Operation* const operation = operations_[begin + places[i]];
    operation->next = std::exchange(ended.first, operation);
    ++ended.count;
    take_out(begin + places[i]);
  }
}

void Outstanding::take_out(std::size_t place) noexcept {
  const std::size_t last = size() - 1;
  if (place != last) {
    operations_[place] = operations_[last];
    std::memcpy(requests_.data() + place * size_of_request_, requests_.data() + last * size_of_request_,
                size_of_request_);
  }
  operations_.pop_back();
  requests_.resize(last * size_of_request_);
}

}  // namespace dovetail::comm::mpi
