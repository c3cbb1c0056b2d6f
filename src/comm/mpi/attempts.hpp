// Operations without a request: a message that is looked for but not received, the first of several requests.
#pragma once

#include <cstddef>

#include "comm/mpi/looks.hpp"
#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// Each is tried again and again until it has ended. Needs no memory of its own, so nothing here can fail. Not thread-safe.
class Attempts {
 public:
  std::size_t size() const noexcept { return size_; }
  /// Tries a new one once. Returns whether it has ended; if not, it is kept.
  bool add(Operation* operation) noexcept;
  /// Tries the next ones in rotation, 16 in a look. What has ended is taken out. @returns It, linked by `next`.
  Operation* ask(Looks& looks) noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Operation* operation = first_; operation != nullptr; operation = operation->next) {
      visit(*operation);
    }
  }

 private:
  void append(Operation* operation) noexcept;
  Operation* take_first() noexcept;

  Operation* first_ = nullptr;  ///< Is tried next.
  Operation* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dovetail::comm::mpi
