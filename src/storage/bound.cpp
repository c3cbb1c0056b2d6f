#include "storage/bound.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/block_pool.hpp"
#include "tasking/gate.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

struct BoundRequest : Request {
  explicit BoundRequest(Binding own) noexcept : binding(std::move(own)) {}
  Binding binding;
};
static_assert(sizeof(BoundRequest) <= bound_block_size);

base::BlockPool& pool() {
  static auto* made = new base::BlockPool(base::BlockPool::slots - 1, bound_block_size);
  return *made;
}

void request_ended(Request& request) noexcept {
  auto* bound = static_cast<BoundRequest*>(&request);
  const Outcome outcome = outcome_of(request, bound->binding.operation);
  Binding binding = std::move(bound->binding);
  bound->~BoundRequest();
  free_bound(bound);
  end_binding(std::move(binding), outcome);
}

}  // namespace

void* allocate_bound() { return pool().allocate(); }
void free_bound(void* block) noexcept { pool().deallocate(block); }

Binding make_binding(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task) {
  Binding binding{&file, task, tasking::ticket_of(task), transferred, nullptr, operation};
  if (vectored(operation.kind)) {
    binding.vectors = std::make_unique<iovec[]>(operation.vectors.size());
    std::copy(operation.vectors.begin(), operation.vectors.end(), binding.vectors.get());
    binding.operation.vectors = {binding.vectors.get(), operation.vectors.size()};
  }
  return binding;
}

void end_binding(Binding binding, const Outcome& outcome) noexcept {
  if (binding.transferred != nullptr) {
    *binding.transferred = outcome.bytes;
  }
  if (binding.ticket != nullptr) [[unlikely]] {
    binding.ticket->count_moved(outcome.bytes);
  }
  std::exception_ptr cause;
  if (outcome.error != 0) {
    cause = failure_of(*binding.file, outcome);
  }
  binding.file->end();
  tasking::fulfill_event(binding.task, std::move(cause));
}

void start_bound(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task,
                 const StorageService::Here& here) {
  // Whatever may fail comes first: from the moment the request has started, there is no way back.
  Binding binding = make_binding(file, operation, transferred, task);
  auto* bound = new (allocate_bound()) BoundRequest(std::move(binding));
  set_up(*bound, file, bound->binding.operation);
  bound->ended = request_ended;
  bound->task = task;
  bound->cancellable = !tasking::cancel_requested(task);
  here.service->start(*bound, file.queued_at(), here.worker);
}

}  // namespace dovetail::storage
