#include "storage/direct_transfer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "storage/bounce.hpp"
#include "storage/bound.hpp"
#include "storage/pieces.hpp"
#include "storage/system_calls.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {

// Requests that are under way together. The one that ends last ends the transfer.
struct DirectTransfer {
  std::atomic<unsigned> left{0};
  void (*ended)(DirectTransfer& transfer) noexcept = nullptr;
};

namespace {

// Gives the buffer of an ended request to one that waits for it, which starts.
void return_bounce(DirectRequest& request) noexcept {
  if (request.bounce == nullptr) [[likely]] {
    return;
  }
  if (DirectRequest* waiter = BouncePool::instance().release(request)) {
    const StorageService::Here here = StorageService::here();
    waiter->dispatcher->dispatch(*waiter, waiter->file->queued_at(),
                                 here.service == waiter->dispatcher ? here.worker : -1);
  }
}

void piece_ended(Request& request) noexcept {
  auto& piece = static_cast<DirectRequest&>(request);
  return_bounce(piece);
  if (piece.transfer->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    piece.transfer->ended(*piece.transfer);
  }
}

void start_piece(DirectRequest& request, bool bounced, const StorageService::Here& here) noexcept {
  // Counted before it may wait for memory: a runtime with nothing in flight would be taken for stuck.
  here.service->count_begun(request, here.worker);
  if (bounced) {
    switch (BouncePool::instance().acquire(request)) {
      case BouncePool::Answer::waiting:
        return;
      case BouncePool::Answer::none:
        request.error = ENOMEM;
        here.service->finish_early(request, here.worker);
        return;
      case BouncePool::Answer::given:
        break;
    }
  }
  here.service->dispatch(request, request.file->queued_at(), here.worker);
}

void start_all(DirectRequest* requests, DirectTransfer& transfer, OpenFile& file, const Operation& operation,
               const Pieces& pieces, detail::Task* task, const StorageService::Here& here) noexcept {
  transfer.left.store(pieces.count, std::memory_order_relaxed);
  const bool cancellable = !tasking::cancel_requested(task);
  bool bounced[most_pieces] = {};
  for (unsigned i = 0; i < pieces.count; ++i) {
    set_up(requests[i], file, operation, pieces.piece[i]);
    requests[i].transfer = &transfer;
    requests[i].ended = piece_ended;
    requests[i].task = task;
    requests[i].cancellable = cancellable;
    bounced[i] = needs_bounce(file, operation, pieces.piece[i]);
  }
  // The last one started may end everything.
  for (unsigned i = 0, count = pieces.count; i < count; ++i) {
    start_piece(requests[i], bounced[i], here);
  }
}

// Transfers whose task is paused meanwhile.
struct PausedTransfer : DirectTransfer {
  detail::Task* task;
};

Outcome perform_paused(OpenFile& file, const Operation& operation, const Pieces& pieces,
                       const StorageService::Here& here) {
  DirectRequest requests[most_pieces];
  PausedTransfer transfer;
  transfer.task = tasking::current_task();
  transfer.ended = [](DirectTransfer& ended) noexcept { tasking::wake(static_cast<PausedTransfer&>(ended).task); };
  tasking::prepare_pause(transfer.task);
  start_all(requests, transfer, file, operation, pieces, transfer.task, here);
  tasking::pause(transfer.task, tasking::WaitReason::io, &transfer);
  return combine(requests, pieces.count, operation);
}

// Everywhere but on a compute worker: the calling thread blocks.
Outcome perform_in_place(OpenFile& file, const Operation& operation, const Pieces& pieces) {
  DirectRequest requests[most_pieces];
  for (unsigned i = 0; i < pieces.count; ++i) {
    set_up(requests[i], file, operation, pieces.piece[i]);
    BounceBuffer own;
    if (needs_bounce(file, operation, pieces.piece[i])) {
      void* memory = mmap(nullptr, BounceBuffer::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) {
        requests[i].error = ENOMEM;
        break;
      }
      own.data = static_cast<std::byte*>(memory);
      requests[i].bounce = &own;
    }
    call_to_end(requests[i]);
    if (own.data != nullptr) {
      munmap(own.data, BounceBuffer::size);
      requests[i].bounce = nullptr;
    }
    if (requests[i].error != 0 || requests[i].remaining > 0) {
      break;
    }
  }
  const Outcome outcome = combine(requests, pieces.count, operation);
  file.device().moved(direction_of(operation.kind), outcome.bytes);
  return outcome;
}

// Transfers that are bound to a task.
struct BoundTransfer : DirectTransfer {
  explicit BoundTransfer(Binding own) noexcept : binding(std::move(own)) {}
  Binding binding;
  unsigned count = 0;
  DirectRequest one;
  std::unique_ptr<DirectRequest[]> several;  ///< Instead of `one`.
  DirectRequest* requests() noexcept { return several ? several.get() : &one; }
};
static_assert(sizeof(BoundTransfer) <= bound_block_size);

void end_bound(DirectTransfer& ended) noexcept {
  auto* const bound = static_cast<BoundTransfer*>(&ended);
  const Outcome outcome = combine(bound->requests(), bound->count, bound->binding.operation);
  Binding binding = std::move(bound->binding);
  bound->~BoundTransfer();
  free_bound(bound);
  end_binding(std::move(binding), outcome);
}

}  // namespace

bool goes_direct(OpenFile& file, const Operation& operation) noexcept {
  return file.direct_descriptor() >= 0 && transfers(operation.kind) &&
         file.chooses_direct(operation.kind, operation.offset, operation.length) &&
         (holds_whole_page(operation.offset, operation.length, file.alignment()) || file.cached_descriptor() < 0);
}

Outcome perform_direct(OpenFile& file, const Operation& operation, const StorageService::Here& here) {
  const Pieces pieces = pieces_of(file, operation);
  if (here.service == nullptr) {
    return perform_in_place(file, operation, pieces);
  }
  if (pieces.count > 1 || needs_bounce(file, operation, pieces.piece[0])) {
    return perform_paused(file, operation, pieces, here);
  }
  DirectRequest request;
  set_up(request, file, operation, pieces.piece[0]);
  run_paused(request, file.queued_at(), here);
  return combine(&request, 1, operation);
}

void start_bound_direct(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task,
                        const StorageService::Here& here) {
  const Pieces pieces = pieces_of(file, operation);
  auto several = pieces.count > 1 ? std::make_unique<DirectRequest[]>(pieces.count) : nullptr;
  Binding binding = make_binding(file, operation, transferred, task);
  auto* bound = new (allocate_bound()) BoundTransfer(std::move(binding));
  bound->ended = end_bound;
  bound->count = pieces.count;
  bound->several = std::move(several);
  start_all(bound->requests(), *bound, file, bound->binding.operation, pieces, task, here);
}

}  // namespace dovetail::storage
