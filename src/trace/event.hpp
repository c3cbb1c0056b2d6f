// What is recorded: 32 bytes for each thing that happened, the same for all kinds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dovetail::trace {

/// What happened. The order is of no meaning, but `io_submitted` to `ahead_submitted` stay together.
enum class Kind : std::uint8_t {
  created,
  dependencies_met,
  ready,
  started,
  paused,
  resumed,
  returned,
  completed,
  failed,
  idle_begin,
  idle_end,
  io_submitted,
  read_submitted,
  write_submitted,
  ahead_submitted,
  io_completed,
  waited,
  accessed,
  message_begun,
  send_posted,
  receive_posted,
  message_ended,
  signal_sent,
  signal_arrived,
  signals_awaited,
};
constexpr unsigned kinds = static_cast<unsigned>(Kind::signals_awaited) + 1;

/// One event as it lies in a ring. `detail` holds, from the lowest bit: 16 bits of name, 8 bits of operation, 40 bits of
/// length. The upper 24 bits of the time are cut off: they are restored from the time at which the recording began.
struct Event {
  std::uint64_t stamp = 0;  ///< Clock ticks (56 bits) and, above them, the kind.
  std::uint64_t id = 0;     ///< Of the task or request.
  /// Offset of a request, or its result. Of `paused` and `returned`: what `SliceClock::end` gave. Of `failed`: the number of the
  /// task's label. Of `waited`: the ticks at which it began. Of `accessed`: where the region begins. Of `message_begun`: the number of its
  /// task. Of what else is about messages: two numbers of 32 bits, see `pair_of`.
  std::uint64_t value = 0;
  std::uint64_t detail = 0;  ///< Name, operation and length.
};
static_assert(sizeof(Event) == 32);

constexpr int time_bits = 56;
constexpr std::uint64_t time_mask = (std::uint64_t{1} << time_bits) - 1;
constexpr std::uint64_t most_names = std::uint64_t{1} << 16;
constexpr std::uint64_t most_operations = std::uint64_t{1} << 8;
constexpr std::uint64_t longest_length = (std::uint64_t{1} << 40) - 1;

constexpr std::uint64_t make_stamp(Kind kind, std::uint64_t ticks) noexcept {
  return (static_cast<std::uint64_t>(kind) << time_bits) | (ticks & time_mask);
}
constexpr std::uint64_t make_detail(std::uint64_t name, std::uint64_t operation = 0,
                                    std::uint64_t length = 0) noexcept {
  return name | (operation << 16) | (std::min(length, longest_length) << 24);
}

/// A rank and a tag, say.
struct Pair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};
constexpr std::uint64_t make_pair_value(Pair pair) noexcept { return std::uint64_t{pair.first} << 32 | pair.second; }
constexpr Pair pair_of(std::uint64_t value) noexcept {
  return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
}
/// A peer, tag or identifier of which nothing is known.
constexpr std::uint32_t unknown_number = 0xffff'ffff;

constexpr Kind kind_of(const Event& event) noexcept { return static_cast<Kind>(event.stamp >> time_bits); }
constexpr std::uint64_t ticks_of(const Event& event) noexcept { return event.stamp & time_mask; }
constexpr std::uint32_t name_of(const Event& event) noexcept {
  return static_cast<std::uint32_t>(event.detail & (most_names - 1));
}
constexpr std::uint32_t operation_of(const Event& event) noexcept {
  return static_cast<std::uint32_t>((event.detail >> 16) & (most_operations - 1));
}
constexpr std::uint64_t length_of(const Event& event) noexcept { return event.detail >> 24; }

}  // namespace dovetail::trace
