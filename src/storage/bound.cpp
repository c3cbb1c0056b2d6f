#include "storage/bound.hpp"

#include <algorithm>
#include <new>

#include "base/block_pool.hpp"
#include "dovetail/failure.hpp"
#include "storage/bounce.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

struct BoundOperation;
struct BoundRequest : Request {
  BoundOperation* owner = nullptr;
};

struct BoundOperation {
  std::atomic<unsigned> left{0};
  unsigned count = 0;
  OpenFile* file = nullptr;
  detail::Task* task = nullptr;
  std::size_t* transferred = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::unique_ptr<iovec[]> vectors;
  std::unique_ptr<BoundRequest[]> several;  ///< Instead of `one`.
  BoundRequest one;
  BoundRequest* requests() noexcept { return several ? several.get() : &one; }
};

constexpr std::size_t block_size = (sizeof(BoundOperation) + 63) / 64 * 64;

base::BlockPool& pool() {
  static auto* made = new base::BlockPool(base::BlockPool::slots - 1, block_size);
  return *made;
}

void finish(BoundOperation* bound) noexcept {
  Pieces pieces;
  pieces.count = bound->count;
  Request results[most_pieces];
  std::copy_n(bound->requests(), bound->count, results);
  Operation operation;
  operation.offset = bound->offset;
  operation.length = bound->length;
  const Outcome outcome = combine(results, pieces, operation);
  if (bound->transferred != nullptr) {
    *bound->transferred = outcome.bytes;
  }
  std::exception_ptr cause;
  if (outcome.error != 0) {
    cause = failure_of(*bound->file, outcome);
  }
  bound->file->end();
  detail::Task* task = bound->task;
  bound->~BoundOperation();
  pool().deallocate(bound);
  tasking::fulfill_event(task, std::move(cause));
}

void request_ended(Request& request) noexcept {
  return_bounce(request);
  BoundOperation* owner = static_cast<BoundRequest&>(request).owner;
  if (owner->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finish(owner);
  }
}

}  // namespace

std::exception_ptr failure_of(const OpenFile& file, const Outcome& outcome) noexcept {
  return std::make_exception_ptr(
      IoError(outcome.error, name_of(outcome.kind), file.path(), outcome.offset, outcome.left));
}

void start_piece(Request& request, bool needs_bounce, const StorageService::Here& here) noexcept {
  // Counted before it may wait for memory: a runtime with nothing in flight would be taken for stuck.
  here.service->count_begun(request, here.worker);
  if (needs_bounce) {
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

void return_bounce(Request& request) noexcept {
  if (request.bounce == nullptr) [[likely]] {
    return;
  }
  if (Request* waiter = BouncePool::instance().release(request)) {
    const StorageService::Here here = StorageService::here();
    waiter->service->dispatch(*waiter, waiter->file->queued_at(), here.service == waiter->service ? here.worker : -1);
  }
}

void start_bound(OpenFile& file, const Operation& operation, const Pieces& pieces, std::size_t* transferred,
                 detail::Task* task, const StorageService::Here& here) {
  // Whatever may fail comes first: from the moment the first request has started, there is no way back.
  Operation own = operation;
  std::unique_ptr<iovec[]> vectors;
  if (vectored(operation.kind)) {
    vectors = std::make_unique<iovec[]>(operation.vectors.size());
    std::copy(operation.vectors.begin(), operation.vectors.end(), vectors.get());
    own.vectors = {vectors.get(), operation.vectors.size()};
  }
  auto several = pieces.count > 1 ? std::make_unique<BoundRequest[]>(pieces.count) : nullptr;
  auto* bound = new (pool().allocate()) BoundOperation;
  bound->left.store(pieces.count, std::memory_order_relaxed);
  bound->count = pieces.count;
  bound->file = &file;
  bound->task = task;
  bound->transferred = transferred;
  bound->offset = operation.offset;
  bound->length = operation.length;
  bound->vectors = std::move(vectors);
  bound->several = std::move(several);
  const bool cancellable = !tasking::cancel_requested(task);
  bool needs_bounce[most_pieces] = {};
  BoundRequest* requests = bound->requests();
  for (unsigned i = 0; i < pieces.count; ++i) {
    requests[i].owner = bound;
    requests[i].ended = request_ended;
    requests[i].task = task;
    requests[i].cancellable = cancellable;
    set_up(requests[i], file, own, pieces.piece[i], needs_bounce[i]);
  }
  // The last one started may end everything.
  for (unsigned i = 0, count = pieces.count; i < count; ++i) {
    start_piece(requests[i], needs_bounce[i], here);
  }
}

}  // namespace dovetail::storage
