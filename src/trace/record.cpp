// The side that threads write: from an enabled call to an event in the thread's own ring.

#include "trace/recorder.hpp"

namespace dovetail::trace {

namespace detail {
constinit std::atomic<std::uint64_t> state{0};
constinit std::atomic<bool> has_accesses{false};
}  // namespace detail

namespace {

constexpr std::size_t longest_reason = 1000;
// Shorter ones would cost more to tell than they did: 10 to 50 microseconds.
constexpr std::uint64_t least_wait_ticks = 50'000;

struct Identity {
  ThreadKind kind = ThreadKind::other;
  unsigned index = 0;
};
thread_local Identity identity;
thread_local ThreadBuffer* own_buffer = nullptr;
// Other thread-locals may record when they are destroyed after `Detacher`; those events are not kept.
thread_local bool ended = false;

struct Detacher {
  ~Detacher() {
    ended = true;
    if (ThreadBuffer* buffer = own_buffer) {
      own_buffer = nullptr;
      Recorder::instance().detach(buffer);
    }
  }
  void arm() noexcept {}
};
thread_local Detacher detacher;

[[gnu::noinline]] ThreadBuffer* attach() noexcept {
  if (ended) return nullptr;
  detacher.arm();  // Its first use is what has it destroyed.
  own_buffer = Recorder::instance().attach(identity.kind, identity.index);
  return own_buffer;
}

[[gnu::noinline]] void join_recording(ThreadBuffer& buffer, std::uint64_t recording) noexcept {
  buffer.names.clear();
  buffer.operations.clear();
  buffer.slices.clear();
  buffer.ring.forget();
  buffer.recording.store(recording, std::memory_order_release);
}

/// The calling thread's buffer, ready for the current recording. Null when there is none after all.
ThreadBuffer* buffer_to_write() noexcept {
  // Acquire: the partner is the store in `Recorder::start`.
  const std::uint64_t state = detail::state.load(std::memory_order_acquire);
  if ((state & 1) == 0) [[unlikely]]
    return nullptr;
  ThreadBuffer* buffer = own_buffer;
  if (buffer == nullptr) [[unlikely]] {
    buffer = attach();
    if (buffer == nullptr) return nullptr;
  }
  const std::uint64_t recording = state >> 1;
  if (buffer->recording.load(std::memory_order_relaxed) != recording) [[unlikely]]
    join_recording(*buffer, recording);
  return buffer;
}

}  // namespace

void thread_name(ThreadKind kind, unsigned index) noexcept {
  identity = {kind, index};
  if (own_buffer != nullptr) {
    own_buffer->kind.store(kind, std::memory_order_relaxed);
    own_buffer->index.store(index, std::memory_order_relaxed);
  }
}

namespace detail {

void record(Kind kind, std::uint64_t id) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) buffer->ring.push({make_stamp(kind, ticks()), id, 0, 0});
}

void record_named(Kind kind, std::uint64_t id, std::string_view name) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t number = buffer->names.number(Recorder::instance().names, name);
    buffer->ring.push({make_stamp(kind, ticks()), id, 0, make_detail(number)});
  }
}

void record_begin(Kind kind, std::uint64_t id, std::string_view name) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t number = buffer->names.number(Recorder::instance().names, name);
    const std::uint64_t now = ticks();
    buffer->slices.begin(id, now);
    buffer->ring.push({make_stamp(kind, now), id, 0, make_detail(number)});
  }
}

void record_end(Kind kind, std::uint64_t id, std::string_view name) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t number = buffer->names.number(Recorder::instance().names, name);
    const std::uint64_t now = ticks();
    buffer->ring.push({make_stamp(kind, now), id, buffer->slices.end(id, now), make_detail(number)});
  }
}

void record_failed(std::uint64_t id, std::string_view label, std::string_view reason) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    Names& names = Recorder::instance().names;
    const std::uint32_t label_number = buffer->names.number(names, label);
    const std::uint32_t reason_number = buffer->names.number(names, reason.substr(0, longest_reason));
    buffer->ring.push({make_stamp(Kind::failed, ticks()), id, label_number, make_detail(reason_number)});
  }
}

void record_waited(std::uint64_t since, std::string_view reason) noexcept {
  const std::uint64_t now = ticks();
  if (now - since < least_wait_ticks) return;
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t number = buffer->names.number(Recorder::instance().names, reason);
    buffer->ring.push({make_stamp(Kind::waited, now), 0, since & time_mask, make_detail(number)});
  }
}

std::uint64_t wait_begins() noexcept { return ticks(); }

void record_range(Kind kind, std::uint64_t id, std::string_view operation, std::string_view file, std::uint64_t bytes,
                  std::uint64_t offset) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    Recorder& recorder = Recorder::instance();
    const std::uint32_t name = buffer->names.number(recorder.names, file);
    const std::uint32_t operation_number = buffer->operations.number(recorder.operations, operation);
    buffer->ring.push({make_stamp(kind, ticks()), id, offset, make_detail(name, operation_number, bytes)});
  }
}

void record_message(std::uint64_t message, std::uint64_t task, std::string_view call) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t operation = buffer->operations.number(Recorder::instance().operations, call);
    buffer->ring.push({make_stamp(Kind::message_begun, ticks()), message, task, make_detail(0, operation)});
  }
}

void record_pair(Kind kind, std::uint64_t id, Pair pair, std::string_view channel, std::uint64_t bytes) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write()) {
    const std::uint32_t name = buffer->names.number(Recorder::instance().names, channel);
    buffer->ring.push({make_stamp(kind, ticks()), id, make_pair_value(pair), make_detail(name, 0, bytes)});
  }
}

void record_completed(std::uint64_t id, std::int64_t result) noexcept {
  if (ThreadBuffer* buffer = buffer_to_write())
    buffer->ring.push({make_stamp(Kind::io_completed, ticks()), id, static_cast<std::uint64_t>(result), 0});
}

}  // namespace detail

void start() { Recorder::instance().start(); }
void stop() { Recorder::instance().stop(); }
bool recording() noexcept { return enabled(); }

}  // namespace dovetail::trace
