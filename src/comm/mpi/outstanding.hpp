// The requests that have been started and not ended, and which of them are asked next: MPI offers nothing but asking each one.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

class Library;

/// What a look costs does not grow with what is outstanding: the newest requests are asked each time, since many messages come at once or
/// soon, and the others in rotation. Not thread-safe.
class Outstanding {
 public:
  /// Requests that are asked in one call of the library.
  static constexpr std::size_t window = 64;

  bool empty() const noexcept { return operations_.empty(); }
  std::size_t size() const noexcept { return operations_.size(); }
  /// Adds an operation whose request has been started. @throws std::bad_alloc, and nothing has changed.
  void add(const Library& library, Operation* operation);
  /// Asks the newest window, and the next one in rotation; more of these for as long as they find something. What has ended is taken out.
  /// @returns It, linked by `next`.
  Operation* ask(Library& library) noexcept;
  /// Asks the `count` newest ones, a window at most.
  Operation* ask_newest(Library& library, std::size_t count) noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Operation* operation : operations_) {
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
  void ask_window(Library& library, std::size_t begin, Ended& ended) noexcept;
  void take_out(std::size_t place) noexcept;

  std::size_t size_of_request_ = 0;
  std::vector<Operation*> operations_;
  std::vector<std::byte> requests_;  ///< Theirs, as an array of MPI's.
  std::size_t next_ = 0;             ///< Where the rotation goes on.
};

}  // namespace dovetail::comm::mpi
