// Operations that are bound to a task: they own what they need until they end, and their end fulfills the task's event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/operation.hpp"
#include "storage/storage_service.hpp"

namespace dovetail::tasking {
class Ticket;
}

namespace dovetail::storage {

/// What every bound operation keeps.
struct Binding {
  OpenFile* file = nullptr;  ///< Counted in by the caller.
  detail::Task* task = nullptr;
  tasking::Ticket* ticket = nullptr;  ///< Of the task; null if it has none.
  std::size_t* transferred = nullptr;
  std::unique_ptr<iovec[]> vectors;
  Operation operation;  ///< Its vectors are the copy above: the program's end with the call.
};

/// @throws std::bad_alloc
Binding make_binding(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task);
/// Tells program and task what became of the operation.
void end_binding(Binding binding, const Outcome& outcome) noexcept;

/// @name Memory of bound operations, from a pool
/// @{
inline constexpr std::size_t bound_block_size = 320;
void* allocate_bound();
void free_bound(void* block) noexcept;
/// @}

/// Starts a request for the whole operation. On a compute worker. @throws std::bad_alloc, and nothing has started.
void start_bound(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task,
                 const StorageService::Here& here);

}  // namespace dovetail::storage
