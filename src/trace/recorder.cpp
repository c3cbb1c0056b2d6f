#include "trace/recorder.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

namespace dovetail::trace {

namespace {

constexpr std::size_t standard_capacity = std::size_t{1} << 19;
constexpr std::size_t least_capacity = 16;
constexpr std::size_t most_capacity = std::size_t{1} << 28;

std::size_t rounded_capacity(std::size_t events) {
  return std::bit_ceil(std::clamp(events, least_capacity, most_capacity));
}

std::size_t capacity_from_environment() noexcept {
  const char* text = std::getenv("DOVETAIL_TRACE_EVENTS");
  std::size_t events = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), events).ec != std::errc())
    return standard_capacity;
  return rounded_capacity(events);
}

bool wants_accesses() noexcept {
  const char* text = std::getenv("DOVETAIL_TRACE_ACCESSES");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

std::uint64_t current_recording() noexcept { return detail::state.load(std::memory_order_relaxed) >> 1; }

}  // namespace

// Constructed under the guard of a local static, on the first use of anything here.
Recorder& Recorder::instance() noexcept {
  static Recorder& recorder = *new Recorder;
  return recorder;
}

Recorder::Recorder() : capacity_(capacity_from_environment()) {
  // A child has none of the threads whose events it would inherit, and must not write a file over its parent's. The
  // locks are held across the fork so that the child does not inherit them from a thread that it does not have.
  pthread_atfork(
      []() NO_THREAD_SAFETY_ANALYSIS {
        instance().mutex_.lock();
        instance().names.lock();
        instance().operations.lock();
      },
      []() NO_THREAD_SAFETY_ANALYSIS {
        instance().operations.unlock();
        instance().names.unlock();
        instance().mutex_.unlock();
      },
      []() NO_THREAD_SAFETY_ANALYSIS {
        Recorder& recorder = instance();
        recorder.operations.unlock();
        recorder.names.unlock();
        detail::state.store(current_recording() << 1, std::memory_order_release);
        recorder.end_ = recorder.begin_;
        recorder.mutex_.unlock();
      });
}

void Recorder::start() {
  const base::LockGuard lock(mutex_);
  detail::state.store(current_recording() << 1, std::memory_order_relaxed);
  std::erase_if(buffers_, [](const auto& buffer) { return buffer->ended; });
  ended_ = 0;
  names.clear();
  operations.clear();
  lost_elsewhere_.store(0, std::memory_order_relaxed);
  use_counter.store(counter_is_trustworthy(), std::memory_order_relaxed);
  detail::has_accesses.store(wants_accesses(), std::memory_order_relaxed);
  begin_ = read_clocks();
  // Release: a thread that sees the recording sees its clock and its empty tables (partner: the acquire load in `detail::record`).
  detail::state.store((current_recording() + 1) << 1 | 1, std::memory_order_release);
}

void Recorder::stop() {
  const base::LockGuard lock(mutex_);
  if (!enabled()) return;
  end_ = read_clocks();
  detail::state.store(current_recording() << 1, std::memory_order_release);
}

Recording Recorder::copy() const {
  const base::LockGuard lock(mutex_);
  Recording recording;
  recording.clock = ClockScale(begin_, enabled() ? read_clocks() : end_);
  recording.begin = static_cast<std::int64_t>(begin_.nanoseconds);
  recording.process = base::rank_of_process();
  recording.counter = use_counter.load(std::memory_order_relaxed);
  recording.lost = lost_elsewhere_.load(std::memory_order_relaxed);
  for (const auto& buffer : buffers_) {
    if (buffer->recording.load(std::memory_order_acquire) != current_recording()) continue;
    ThreadEvents thread;
    thread.kind = buffer->kind.load(std::memory_order_relaxed);
    thread.index = buffer->index.load(std::memory_order_relaxed);
    thread.system_id = buffer->system_id;
    thread.is_main = buffer->is_main;
    thread.lost = buffer->ring.read(thread.events);
    // A thread that was about to record when recording ended may do so a little later.
    std::erase_if(thread.events, [&](const Event& event) {
      return recording.clock.nanoseconds(ticks_of(event)) > recording.clock.length();
    });
    recording.lost += thread.lost;
    recording.threads.push_back(std::move(thread));
  }
  // After the events, whose names are all known by now.
  recording.names = names.all();
  recording.operations = operations.all();
  return recording;
}

void Recorder::set_capacity(std::size_t events) {
  const base::LockGuard lock(mutex_);
  capacity_ = rounded_capacity(events);
}

void Recorder::set_ended_limit(std::size_t threads) {
  const base::LockGuard lock(mutex_);
  ended_limit_ = threads;
}

std::size_t Recorder::buffers() const {
  const base::LockGuard lock(mutex_);
  return buffers_.size();
}

ThreadBuffer* Recorder::attach(ThreadKind kind, unsigned index) noexcept {
  const base::LockGuard lock(mutex_);
  try {
    auto buffer = std::make_unique<ThreadBuffer>(capacity_);
    buffer->kind.store(kind, std::memory_order_relaxed);
    buffer->index.store(index, std::memory_order_relaxed);
    buffer->system_id = gettid();
    buffer->is_main = gettid() == getpid();
    return buffers_.emplace_back(std::move(buffer)).get();
  } catch (const std::bad_alloc&) {
    lost_elsewhere_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
}

void Recorder::detach(ThreadBuffer* buffer) noexcept {
  const base::LockGuard lock(mutex_);
  const auto own =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const auto& each) { return each.get() == buffer; });
  const bool holds_events = buffer->recording.load(std::memory_order_relaxed) == current_recording();
  if (!holds_events) {
    buffers_.erase(own);
    return;
  }
  buffer->ended = true;
  // In the order of ending, which is the order in which buffers make way.
  std::rotate(own, own + 1, buffers_.end());
  if (++ended_ > ended_limit_) drop_oldest_ended();
}

void Recorder::drop_oldest_ended() {
  const auto oldest = std::find_if(buffers_.begin(), buffers_.end(), [](const auto& buffer) { return buffer->ended; });
  lost_elsewhere_.fetch_add((*oldest)->ring.written(), std::memory_order_relaxed);
  buffers_.erase(oldest);
  --ended_;
}

}  // namespace dovetail::trace
