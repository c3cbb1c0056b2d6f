#include "comm/mpi/operation.hpp"

#include <new>

#include "base/block_pool.hpp"

namespace dovetail::comm::mpi {
namespace {

constexpr unsigned pool_slot = base::BlockPool::slots - 2;
constexpr std::size_t block_size = 256;
static_assert(sizeof(Operation) <= block_size);

base::BlockPool& pool() {
  static auto* const made = new base::BlockPool(pool_slot, block_size);
  return *made;
}

}  // namespace

Operation* make_operation() {
  auto* const made = new (pool().allocate()) Operation;
  made->is_pooled = true;
  return made;
}

void drop(Operation* operation) noexcept {
  if (operation->is_pooled) {
    operation->~Operation();
    pool().deallocate(operation);
  }
}

}  // namespace dovetail::comm::mpi
