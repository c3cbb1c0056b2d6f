// The requests that have been started and not ended, and which of them are asked next: MPI offers nothing but asking each one.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/mpi/looks.hpp"
#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

class Library;

/// What a look costs does not grow with what is outstanding. The newest requests are asked each time, since many messages come at once or
/// soon, and the others in rotation. Not thread-safe.
class Outstanding {
 public:
  /// Requests that are asked in one call of the library.
  static constexpr std::size_t window = 64;

  /// Of those in windows.
  std::size_t size() const noexcept { return operations_.size(); }
  /// Adds an operation whose request has been started. If there is no memory for its place in a window, it is asked by itself.
  void add(const Library& library, Operation* operation) noexcept;
  /// Asks the newest window, and one more in rotation for each look; more of these for as long as they find something. What has ended is taken
  /// out. @returns It, linked by `next`.
  Operation* ask(Library& library, Looks& looks) noexcept;
  /// Asks the `count` newest ones, a window at most.
  Operation* ask_newest(Library& library, std::size_t count) noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Operation* operation : operations_) {
      visit(*operation);
    }
    for (const Operation* operation = without_place_; operation != nullptr; operation = operation->next) {
      visit(*operation);
    }
  }
  /// Takes all out. @returns Them, linked by `next`.
  Operation* take_all() noexcept;

 private:
  struct Ended {
    Operation* first = nullptr;
    std::size_t count = 0;
  };
  bool has_place_for_one(std::size_t size_of_request) noexcept;
  void ask_those_without_place(Library& library, Ended& ended) noexcept;
  void ask_window(Library& library, std::size_t begin, Ended& ended) noexcept;
  void take_out(std::size_t place, std::size_t size_of_request) noexcept;

  std::vector<Operation*> operations_;
  std::vector<std::byte> requests_;  ///< Theirs, as an array of MPI's.
  std::size_t next_ = 0;             ///< Where the rotation goes on.
  Operation* without_place_ = nullptr;
};

}  // namespace dovetail::comm::mpi
