// Operations without a request: a message that is looked for but not received, the first of several requests.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// Each is tried again and again until it has ended. Not thread-safe.
class Attempts {
 public:
  bool empty() const noexcept { return operations_.empty(); }
  std::size_t size() const noexcept { return operations_.size(); }
  /// Tries a new one once. @returns Whether it has ended; if not, it is kept. @throws std::bad_alloc
  bool add(Operation* operation);
  /// Tries the next ones in rotation. What has ended is taken out. @returns It, linked by `next`.
  Operation* ask() noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Operation* operation : operations_) {
      visit(*operation);
    }
  }

 private:
  std::vector<Operation*> operations_;
  std::size_t next_ = 0;
};

}  // namespace dovetail::comm::mpi
