#include "storage/aio_queue.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "storage/open_file.hpp"

namespace dovetail::storage {
namespace {

// What the kernel was found not to have, by trying. For the process: the kernel is the same for all contexts.
std::atomic<bool> has_nowait{true};
std::atomic<bool> has_sync{true};

constexpr unsigned familiar_magic = 0xa10a10a1;

std::string explain_failure(int error) {
  std::string text = "io_setup: " + std::generic_category().message(error);
  switch (error) {
    case EAGAIN:
      return text + " (fs.aio-max-nr is used up: raise it, as `sysctl fs.aio-max-nr=1048576` does)";
    case ENOSYS:
      return text + " (this kernel has no asynchronous I/O, or a filter hides it)";
    case EPERM:
    case EACCES:
      return text + " (forbidden by seccomp)";
    default:
      return text;
  }
}

bool syncs(Kind kind) noexcept { return kind == Kind::fsync || kind == Kind::fdatasync; }

}  // namespace

// The head of the memory behind `io_context_t`, followed by the events.
struct AioQueue::Mapped {
  unsigned id;
  unsigned count;
  unsigned head;  // Moved by the taker of events: us.
  unsigned tail;  // Moved by the kernel.
  unsigned magic;
  unsigned compatible_features;
  unsigned incompatible_features;
  unsigned header_length;
  io_event* events() noexcept {
    return reinterpret_cast<io_event*>(reinterpret_cast<std::byte*>(this) + sizeof(Mapped));
  }
};

std::unique_ptr<AioQueue> AioQueue::make(std::string& why_not) {
  std::unique_ptr<AioQueue> made(new AioQueue);
  made->bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made->bell_ < 0) {
    why_not = "eventfd: " + std::generic_category().message(errno) + " (RLIMIT_NOFILE is too small)";
    return nullptr;
  }
  if (const int error = io_setup(static_cast<int>(entries), &made->context_)) {
    made->context_ = nullptr;
    why_not = explain_failure(-error);
    return nullptr;
  }
  auto* mapped = reinterpret_cast<Mapped*>(made->context_);
  if (mapped->magic == familiar_magic && mapped->incompatible_features == 0 &&
      mapped->header_length == sizeof(Mapped)) {
    made->mapped_ = mapped;
  }
  return made;
}

AioQueue::~AioQueue() {
  if (context_ != nullptr) {
    io_destroy(context_);
  }
  if (bell_ >= 0) {
    close(bell_);
  }
}

bool AioQueue::suits(const Request& request) noexcept {
  if (transfers(request.kind)) {
    return request.file != nullptr && request.descriptor == request.file->direct_descriptor();
  }
  return syncs(request.kind) && has_sync.load(std::memory_order_relaxed);
}

void AioQueue::prepare(Request& request) noexcept {
  iocb& entry = prepared_[gathered()];
  const Attempt attempt = attempt_of(request);
  const auto offset = static_cast<long long>(attempt.offset);
  const auto* vectors = static_cast<const iovec*>(attempt.address);
  switch (attempt.kind) {
    case Kind::read:
      io_prep_pread(&entry, request.descriptor, attempt.address, attempt.length, offset);
      break;
    case Kind::write:
      io_prep_pwrite(&entry, request.descriptor, attempt.address, attempt.length, offset);
      break;
    case Kind::readv:
      io_prep_preadv(&entry, request.descriptor, vectors, static_cast<int>(attempt.length), offset);
      break;
    case Kind::writev:
      io_prep_pwritev(&entry, request.descriptor, vectors, static_cast<int>(attempt.length), offset);
      break;
    case Kind::fsync:
      io_prep_fsync(&entry, request.descriptor);
      break;
    default:
      io_prep_fdsync(&entry, request.descriptor);
  }
  if (transfers(attempt.kind) && has_nowait.load(std::memory_order_relaxed)) {
    entry.aio_rw_flags = RWF_NOWAIT;
  }
  entry.data = &request;
  io_set_eventfd(&entry, bell_);
  list_[gathered()] = &entry;
  set_gathered(gathered() + 1);
  count_submitted(1);
}

void AioQueue::submit(Request& request) noexcept {
  const base::LockGuard lock(submitting_);
  if (!kept_.empty() || gathered() == batch || full()) [[unlikely]] {
    kept_.push(request);
    return;
  }
  prepare(request);
  if (gathered() == batch) {
    submit_gathered();
  }
}

void AioQueue::refill() noexcept {
  if (kept_.empty()) [[likely]] {
    return;
  }
  const base::LockGuard lock(submitting_);
  while (!kept_.empty() && !full()) {
    if (gathered() == batch) {
      submit_gathered();
      if (gathered() == batch) {
        return;
      }
    }
    prepare(*kept_.pop());
  }
}

// The system did not take the first of those gathered: a thread does it, and tells the true error if there is one.
void AioQueue::give_back_first(int error) noexcept {
  auto& request = *static_cast<Request*>(list_[0]->data);
  if (error == EINVAL && list_[0]->aio_rw_flags != 0) {
    // Perhaps it does not know the flag: without it, the same once more.
    has_nowait.store(false, std::memory_order_relaxed);
    list_[0]->aio_rw_flags = 0;
    return;
  }
  if (error == EINVAL && syncs(request.kind)) {
    has_sync.store(false, std::memory_order_relaxed);
  }
  request.on_threads = true;
  given_back_.push(request);
  any_given_back_.store(true, std::memory_order_release);
  set_gathered(gathered() - 1);
  std::move(list_ + 1, list_ + 1 + gathered(), list_);
}

void AioQueue::submit_for_owner() noexcept {
  if (!has_nowait.load(std::memory_order_relaxed)) {
    return;  // the call may block then
  }
  submit_gathered();
  if (any_given_back_.load(std::memory_order_relaxed)) {
    eventfd_write(bell_, 1);  // the worker that is told takes them
  }
}

void AioQueue::submit_gathered() noexcept {
  while (gathered() > 0) {
    const int result = io_submit(context_, static_cast<long>(gathered()), list_);
    if (result > 0) {
      set_gathered(gathered() - static_cast<unsigned>(result));
      std::move(list_ + result, list_ + result + gathered(), list_);
    } else if (result == -EAGAIN && in_flight() > gathered() + given_back_.size()) {
      break;  // the context is full: tried again when something of ours has ended
    } else if (result != -EINTR) {
      give_back_first(result == 0 ? EAGAIN : -result);
    }
  }
  // The entries lie where they were prepared: the list may begin in the middle of them.
  if (gathered() > 0) {
    iocb left[batch];
    for (unsigned i = 0; i < gathered(); ++i) {
      left[i] = *list_[i];
    }
    for (unsigned i = 0; i < gathered(); ++i) {
      prepared_[i] = left[i];
      list_[i] = &prepared_[i];
    }
  }
}

void AioQueue::sleep(int wake_descriptor, std::chrono::steady_clock::time_point deadline) noexcept {
  flush();
  if (has_completions() || any_given_back_.load(std::memory_order_relaxed) ||
      some_left_.load(std::memory_order_relaxed)) {
    return;
  }
  pollfd wanted[2] = {{bell_, POLLIN, 0}, {wake_descriptor, POLLIN, 0}};
  timespec timeout{};
  const bool forever = deadline == std::chrono::steady_clock::time_point::max();
  if (!forever) {
    const auto left = std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now()).count());
    timeout = {left / 1'000'000'000, left % 1'000'000'000};
  }
  ppoll(wanted, 2, forever ? nullptr : &timeout, nullptr);
  for (const pollfd& one : wanted) {
    if ((one.revents & POLLIN) != 0) {
      std::uint64_t value = 0;
      [[maybe_unused]] const auto ignored = read(one.fd, &value, sizeof value);
    }
  }
}

bool AioQueue::notify_by(int /*bell*/, int watch) noexcept {
  epoll_event event{};
  watch_ = watch;
  return epoll_ctl(watch_, EPOLL_CTL_ADD, bell_, &event) == 0;
}

bool AioQueue::notify_completions(bool on) noexcept {
  epoll_event event{};
  event.events = on ? EPOLLIN | EPOLLET : 0;
  epoll_ctl(watch_, EPOLL_CTL_MOD, bell_, &event);
  return false;  // what has come already has made the descriptor ready
}

bool AioQueue::has_completions() const noexcept {
  if (mapped_ == nullptr) {
    return false;  // only a call can say; the bell wakes a sleeper
  }
  return std::atomic_ref(mapped_->head).load(std::memory_order_relaxed) !=
         std::atomic_ref(mapped_->tail).load(std::memory_order_acquire);
}

// Without a system call. The kernel looks at `head` when it seems to have no room left.
unsigned AioQueue::take_mapped(Completion* completions, unsigned most) noexcept {
  unsigned head = std::atomic_ref(mapped_->head).load(std::memory_order_relaxed);
  const unsigned tail = std::atomic_ref(mapped_->tail).load(std::memory_order_acquire);
  unsigned count = 0;
  for (; head != tail && count < most; head = (head + 1) % mapped_->count) {
    const io_event& event = mapped_->events()[head];
    completions[count++] = {static_cast<Request*>(event.data), static_cast<std::int32_t>(event.res)};
  }
  std::atomic_ref(mapped_->head).store(head, std::memory_order_release);
  return count;
}

unsigned AioQueue::take_by_call(Completion* completions, unsigned most) noexcept {
  constexpr unsigned room = 64;
  io_event events[room];
  timespec at_once{};
  const int got = io_getevents(context_, 0, static_cast<long>(std::min(most, room)), events, &at_once);
  const unsigned count = got > 0 ? static_cast<unsigned>(got) : 0;
  some_left_.store(count > 0 && count == std::min(most, room), std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) {
    completions[i] = {static_cast<Request*>(events[i].data), static_cast<std::int32_t>(events[i].res)};
  }
  return count;
}

unsigned AioQueue::take_given_back(Completion* completions, unsigned most) noexcept {
  const base::LockGuard lock(submitting_);
  unsigned count = 0;
  while (count < most && !given_back_.empty()) {
    completions[count++] = {given_back_.pop(), -EAGAIN};
  }
  any_given_back_.store(!given_back_.empty(), std::memory_order_relaxed);
  return count;
}

unsigned AioQueue::take(Completion* completions, unsigned most) noexcept {
  const bool back = any_given_back_.load(std::memory_order_acquire);
  if (!back && (mapped_ != nullptr ? !has_completions() : in_flight() == 0)) {
    return 0;
  }
  if (!taking_.try_lock()) {
    return 0;
  }
  // The thread that wrote the requests counted them afterwards; this load lets us see what it wrote.
  (void)submitted_.load(std::memory_order_acquire);
  unsigned count = back ? take_given_back(completions, most) : 0;
  const unsigned ended = mapped_ != nullptr ? take_mapped(completions + count, most - count)
                                            : take_by_call(completions + count, most - count);
  for (unsigned i = count; i < count + ended; ++i) {
    Completion& completion = completions[i];
    if (completion.result == -EAGAIN || (completion.result == -EOPNOTSUPP && transfers(completion.request->kind))) {
      // It would have blocked: an executor may. Said before any other thread sees the request.
      completion.request->on_threads = true;
      completion.result = -EAGAIN;
    }
  }
  count += ended;
  count_taken(count);
  taking_.unlock();
  return count;
}

}  // namespace dovetail::storage
