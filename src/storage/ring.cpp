#include "storage/ring.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/descriptor.hpp"
#include "device/ring_setup.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {
namespace {

// Completions that are not of requests. Requests are aligned, so their addresses are never so small.
constexpr std::uint64_t wake_tag = 1;
constexpr std::uint64_t cancel_tag = 2;
// For the same reason their lowest bits are free: they mark the halves of a write that is linked with a sync.
constexpr std::uint64_t written_mark = 1;
constexpr std::uint64_t synced_mark = 2;
constexpr std::uint64_t marks = 3;

// Of a submission.
void require_open(int result) noexcept {
  if (result == -EBADF || result == -EOPNOTSUPP) [[unlikely]] {
    base::end_since_closed("a ring (io_uring)");
  }
}

bool supports(io_uring_probe* probe, int operation) noexcept {
  return probe != nullptr && io_uring_opcode_supported(probe, operation) != 0;
}

void prepare_transfer(io_uring_sqe* entry, const Request& request) noexcept {
  const Attempt attempt = attempt_of(request);
  const auto* vectors = static_cast<const iovec*>(attempt.address);
  switch (attempt.kind) {
    case Kind::poll:
      return io_uring_prep_poll_add(entry, request.descriptor, attempt.length);
    case Kind::read:
      return io_uring_prep_read(entry, request.descriptor, attempt.address, attempt.length, attempt.offset);
    case Kind::write:
      return io_uring_prep_write(entry, request.descriptor, attempt.address, attempt.length, attempt.offset);
    case Kind::readv:
      return io_uring_prep_readv(entry, request.descriptor, vectors, attempt.length, attempt.offset);
    default:
      return io_uring_prep_writev(entry, request.descriptor, vectors, attempt.length, attempt.offset);
  }
}

}  // namespace

RingFeatures Ring::allowed{};

std::unique_ptr<Ring> Ring::make(std::string& why_not) {
  std::unique_ptr<Ring> made(new Ring);
  why_not = device::set_up_ring(made->ring_);
  if (!why_not.empty()) {
    made->ring_.ring_fd = -1;
    return nullptr;
  }
  io_uring_probe* probe = io_uring_get_probe_ring(&made->ring_);
  made->features_.links = allowed.links && supports(probe, IORING_OP_FSYNC);
  made->features_.buffers = allowed.buffers && supports(probe, IORING_OP_READ_FIXED);
  made->features_.cancel = allowed.cancel && supports(probe, IORING_OP_ASYNC_CANCEL);
  io_uring_free_probe(probe);
  // After a fork the child must not see, let alone move, the parent's queues.
  io_uring_ring_dontfork(&made->ring_);
  return made;
}

Ring::~Ring() {
  if (has_table_.load(std::memory_order_relaxed)) {
    BufferRegistry::instance().remove(this);
  }
  if (ring_.ring_fd >= 0) {
    io_uring_queue_exit(&ring_);
  }
}

io_uring_sqe* Ring::entry() noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    submit_gathered();
    entry = io_uring_get_sqe(&ring_);
  }
  return entry;
}

void Ring::prepare(Request& request) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  const auto offset = static_cast<off_t>(request.offset);
  switch (request.kind) {
    case Kind::nop:
      io_uring_prep_nop(entry);
      break;
    case Kind::fsync:
      io_uring_prep_fsync(entry, request.descriptor, 0);
      break;
    case Kind::fdatasync:
      io_uring_prep_fsync(entry, request.descriptor, IORING_FSYNC_DATASYNC);
      break;
    case Kind::fallocate:
      io_uring_prep_fallocate(entry, request.descriptor, request.mode, offset, static_cast<off_t>(request.length));
      break;
    case Kind::open:
      io_uring_prep_openat(entry, AT_FDCWD, request.path, request.mode, static_cast<mode_t>(request.offset));
      // The kernel would try it first without waiting. A FIFO has no other end yet then: a writer is refused with ENXIO, and a reader
      // finds the end of the data at once.
      entry->flags |= IOSQE_ASYNC;
      break;
    default:
      prepare_transfer(entry, request);
  }
  if (features_.buffers && transfers(request.kind) && !request.waits) {
    use_registered(*entry, attempt_of(request));
  }
  io_uring_sqe_set_data(entry, &request);
  if (request.off_core) {
    entry->flags |= IOSQE_ASYNC;
  }
  set_gathered(gathered() + 1);
  if (!request.durable || !linkable(request)) [[likely]] {
    count_submitted(1);
    return;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(&request);
  entry->flags |= IOSQE_IO_LINK;
  io_uring_sqe_set_data64(entry, address | written_mark);
  io_uring_sqe* sync = io_uring_get_sqe(&ring_);
  io_uring_prep_fsync(sync, request.descriptor, IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data64(sync, address | synced_mark);
  set_gathered(gathered() + 1);
  pairs_gathered_ = true;
  count_submitted(2);
}

// The same transfer, for memory that the kernel has pinned already. The entry differs in the operation and the slot only.
void Ring::use_registered(io_uring_sqe& entry, const Attempt& attempt) noexcept {
  if (vectored(attempt.kind)) {
    return;
  }
  const BufferRegistry::Found buffer = BufferRegistry::find(attempt.address, attempt.length);
  if (buffer.slot == BufferRegistry::slots) [[likely]] {
    return;
  }
  const bool offered = offered_ != nullptr && offered_[buffer.slot].generation == buffer.generation;
  if (offered ? offered_[buffer.slot].accepted : register_buffer(buffer)) {
    entry.opcode = reads(attempt.kind) ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
    entry.buf_index = static_cast<std::uint16_t>(buffer.slot);
  }
}

// Lazily: by the ring that transfers. A refusal is remembered, and the memory used as any other.
bool Ring::register_buffer(const BufferRegistry::Found& buffer) noexcept {
  BufferRegistry& registry = BufferRegistry::instance();
  if (offered_ == nullptr) {
    offered_.reset(new (std::nothrow) Offered[BufferRegistry::slots]);
    const int table = offered_ == nullptr ? -ENOMEM : io_uring_register_buffers_sparse(&ring_, BufferRegistry::slots);
    if (table != 0) {
      features_.buffers = false;
      registry.note(buffer.slot, -table);
      return false;
    }
    registry.add(this);
    has_table_.store(true, std::memory_order_release);
  }
  const iovec memory{buffer.data, buffer.size};
  const __u64 tag = 0;
  const int updated = io_uring_register_buffers_update_tag(&ring_, buffer.slot, &memory, &tag, 1);
  const int error = updated == 1 ? 0 : updated < 0 ? -updated : EINVAL;
  offered_[buffer.slot] = {buffer.generation, error == 0};
  registry.note(buffer.slot, error);
  return error == 0;
}

void Ring::forget_buffer(unsigned slot) noexcept {
  if (has_table_.load(std::memory_order_acquire)) {
    const iovec nothing{};
    const __u64 tag = 0;
    io_uring_register_buffers_update_tag(&ring_, slot, &nothing, &tag, 1);
  }
}

// Whether this attempt, if all of it succeeds, is all there is to write.
bool Ring::linkable(const Request& request) const noexcept {
  return features_.links && !cut_.load(std::memory_order_relaxed) && request.kind == Kind::write &&
         request.attempt == request.remaining;
}

// Both halves of a pair have ended.
void Ring::finish_pair(Request& request) const noexcept {
  const int sync = request.synced;
  request.halves = 0;
  request.synced = 0;
  if (request.written < 0 || static_cast<std::uint32_t>(request.written) != request.attempt ||
      cut_.load(std::memory_order_seq_cst)) {
    return;  // The link was broken, or might have been: the sync follows when everything is written.
  }
  if (sync == 0) {
    request.durable = false;
  } else if (sync != -ECANCELED && sync != -EINTR && sync != -EAGAIN) {
    request.synced = sync;
  }
}

void Ring::cancel() noexcept {
  if (!features_.cancel || cannot_cancel_.load(std::memory_order_relaxed)) {
    return;
  }
  const base::LockGuard lock(submitting_);
  if (io_uring_sqe* request = entry()) {
    io_uring_prep_cancel64(request, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(request, cancel_tag);
    set_gathered(gathered() + 1);
  }
}

void Ring::submit(Request& request) noexcept {
  constexpr unsigned most_entries = 2;  // of one request
  const base::LockGuard lock(submitting_);
  if (io_uring_sq_space_left(&ring_) < most_entries) [[unlikely]] {
    submit_gathered();
  }
  if (!kept_.empty() || io_uring_sq_space_left(&ring_) < most_entries || in_flight() >= device::ring_completion_entries)
      [[unlikely]] {
    kept_.push(request);
    return;
  }
  // Not as soon as there are enough: these may be the last ones before a sleep, which hands them over by the same system call.
  if (gathered() >= batch_) {
    submit_gathered();
    batch_ = has_completions() ? batch_that_ends_at_once : batch;
  }
  prepare(request);
}

void Ring::refill() noexcept {
  if (kept_.empty()) [[likely]] {
    return;
  }
  const base::LockGuard lock(submitting_);
  while (!kept_.empty() && in_flight() < device::ring_completion_entries) {
    if (io_uring_sq_space_left(&ring_) < 2) {
      submit_gathered();
      if (io_uring_sq_space_left(&ring_) < 2) {
        return;
      }
    }
    prepare(*kept_.pop());
  }
}

void Ring::submit_gathered() noexcept {
  while (gathered() > 0) {
    const int result = io_uring_submit(&ring_);
    if (result == -EINTR) {
      continue;
    }
    if (static_cast<unsigned>(std::max(result, 0)) < gathered() && pairs_gathered_) [[unlikely]] {
      // A pair may have been cut in two, and a sync no longer waits for its write. Links are not relied on any more.
      cut_.store(true, std::memory_order_seq_cst);
    }
    if (result <= 0) {
      require_open(result);
      return;  // EAGAIN or EBUSY: the kernel is short of memory, or wants completions taken first. Tried again later.
    }
    set_gathered(gathered() - std::min(gathered(), static_cast<unsigned>(result)));
  }
  pairs_gathered_ = false;
}

void Ring::arm(int wake_descriptor) noexcept {
  {
    const base::LockGuard lock(taking_);
    if (wake_armed_) {
      return;
    }
    wake_armed_ = true;
  }
  io_uring_sqe* poll_entry = entry();
  if (poll_entry == nullptr) {
    const base::LockGuard lock(taking_);
    wake_armed_ = false;
    return;
  }
  io_uring_prep_poll_multishot(poll_entry, wake_descriptor, POLLIN);
  io_uring_sqe_set_data64(poll_entry, wake_tag);
  set_gathered(gathered() + 1);
}

// Not checked: no other thread submits while the owner sleeps, so it does not take `submitting_`.
void Ring::sleep(int wake_descriptor,
                 std::chrono::steady_clock::time_point deadline) noexcept NO_THREAD_SAFETY_ANALYSIS {
  arm(wake_descriptor);
  int result = 0;
  if (deadline == std::chrono::steady_clock::time_point::max()) {
    result = io_uring_submit_and_wait(&ring_, 1);
  } else {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now()).count();
    __kernel_timespec timeout{};
    timeout.tv_sec = left > 0 ? left / 1'000'000'000 : 0;
    timeout.tv_nsec = left > 0 ? left % 1'000'000'000 : 0;
    io_uring_cqe* first = nullptr;
    result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
  }
  // The queue tells whether the submission succeeded: the result may be that of the wait.
  set_gathered(io_uring_sq_ready(&ring_));
  if (gathered() == 0) {
    pairs_gathered_ = false;
  } else if (pairs_gathered_) {
    cut_.store(true, std::memory_order_seq_cst);
  }
  require_open(result);
}

bool Ring::has_completions() const noexcept {
  return io_uring_smp_load_acquire(ring_.cq.ktail) != io_uring_smp_load_acquire(ring_.cq.khead);
}

unsigned Ring::take(Completion* completions, unsigned most) noexcept {
  if (!has_completions()) {
    if ((std::atomic_ref(*ring_.sq.kflags).load(std::memory_order_relaxed) & IORING_SQ_CQ_OVERFLOW) == 0) {
      return 0;
    }
    io_uring_get_events(&ring_);  // those that did not fit
  }
  if (!taking_.try_lock()) {
    return 0;
  }
  // The thread that wrote the requests counted them afterwards; this load lets us see what it wrote.
  (void)submitted_.load(std::memory_order_acquire);
  unsigned head = *ring_.cq.khead;
  const unsigned tail = io_uring_smp_load_acquire(ring_.cq.ktail);
  // The owner counts in the kernel from what lies here when it goes to sleep. If another thread took the completion of its bell in
  // between, nothing would be left to wake it. A bell that is seen in `tail` was rung after the owner said so. An owner that takes is
  // not asleep.
  if (owner_is_asleep()) {
    taking_.unlock();
    return 0;
  }
  unsigned count = 0;
  unsigned ended = 0;
  for (; head != tail && count < most; ++head) {
    const io_uring_cqe& entry = ring_.cq.cqes[head & *ring_.cq.kring_mask];
    if (entry.user_data > cancel_tag) [[likely]] {
      auto* request = reinterpret_cast<Request*>(static_cast<std::uintptr_t>(entry.user_data & ~marks));
      std::int32_t result = entry.res;
      ++ended;
      if ((entry.user_data & marks) != 0) [[unlikely]] {
        // Both under this lock, whichever thread takes them.
        ((entry.user_data & written_mark) != 0 ? request->written : request->synced) = result;
        if (++request->halves < 2) {
          continue;
        }
        result = request->written;
        finish_pair(*request);
      }
      completions[count++] = {request, result};
    } else if (entry.user_data == cancel_tag) {
      if (entry.res == -EINVAL) {
        cannot_cancel_.store(true, std::memory_order_relaxed);
      }
    } else if ((entry.flags & IORING_CQE_F_MORE) == 0) {
      wake_armed_ = false;
    }
  }
  io_uring_smp_store_release(ring_.cq.khead, head);
  count_taken(ended);
  taking_.unlock();
  return count;
}

bool Ring::notify_by(int bell, int /*watch*/) noexcept {
  if (io_uring_register_eventfd(&ring_, bell) != 0) {
    return false;
  }
  notify_completions(false);
  return true;
}

bool Ring::notify_completions(bool on) noexcept {
  const std::atomic_ref flags(*ring_.cq.kflags);
  const unsigned was = flags.load(std::memory_order_relaxed);
  flags.store(on ? was & ~unsigned{IORING_CQ_EVENTFD_DISABLED} : was | IORING_CQ_EVENTFD_DISABLED,
              std::memory_order_seq_cst);
  return has_completions();
}

}  // namespace dovetail::storage
