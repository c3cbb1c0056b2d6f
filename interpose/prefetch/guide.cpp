#include "guide.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "helper.hpp"
#include "libc.hpp"
#include "system.hpp"

namespace dovetail::prefetching {
namespace {

// A call may come in a signal handler, whose stack is small: longer paths are not looked at.
constexpr std::size_t longest_path = 1024;

// What the system takes only for all of a descriptor.
AdviceKind of_descriptor(AdviceKind kind) noexcept {
  return kind == AdviceKind::random || kind == AdviceKind::sequential ? kind : AdviceKind::normal;
}

void set_advice(int number, Guidance& guidance, AdviceKind kind) noexcept {
  const auto wanted = static_cast<int>(kind);
  const int now = guidance.advice.load(std::memory_order_relaxed);
  if (now != wanted) {
    guidance.advice.store(wanted, std::memory_order_relaxed);
    posix_fadvise(number, 0, 0, wanted);
  }
}

std::uint64_t this_reader(int number) noexcept {
  return static_cast<std::uint64_t>(getpid()) << 32 | static_cast<std::uint32_t>(number);
}

// A program that computes for some seconds between two blocks of a file still counts as one that reads it.
std::uint32_t this_period() noexcept {
  constexpr std::uint64_t nanoseconds_of_one = 8'000'000'000;
  return static_cast<std::uint32_t>(base::coarse_nanoseconds() / nanoseconds_of_one);
}

}  // namespace

constinit Guide guide;

bool Guide::start(std::byte* memory, std::uint64_t bytes) noexcept {
  table_ = AdviceTable::in(memory, bytes);
  if (table_.files() == 0 || !helper.prepare()) {
    table_ = {};
    return false;
  }
  timed_ = table_.timed();
  prctl(PR_GET_NAME, name_);
  name_[sizeof name_ - 1] = '\0';
  char path[longest_path];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[std::max<ssize_t>(length, 0)] = '\0';
  const char* slash = std::strrchr(path, '/');
  const char* program = slash == nullptr ? path : slash + 1;
  std::memcpy(program_, program, std::min(std::strlen(program) + 1, longest_name));
  program_[longest_name - 1] = '\0';
  return true;
}

std::uint32_t Guide::begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept {
  if (!wants(identity)) {
    return Descriptor::ignored;
  }
  char path[longest_path];
  const std::size_t length = name_of(number, path, sizeof path);
  const std::uint32_t rule = length == 0 ? AdviceTable::no_rule : table_.rule_for({path, length}, name_, program_);
  if (rule == AdviceTable::no_rule) {
    return Descriptor::ignored;
  }
  bool made = false;
  const std::uint32_t found = table_.find(identity, rule, made);
  if (found == table_.files() || table_.file(found).given_up.load(std::memory_order_relaxed) != not_given_up) {
    return Descriptor::ignored;
  }
  AdvisedFile& file = table_.file(found);
  if (made) {
    std::memcpy(file.name, path, length < AdvisedFile::longest_name ? length : 0);
  }
  file.holder.store(this_reader(number), std::memory_order_relaxed);
  Guidance& guidance = guidances[number];
  guidance.rule.store(rule, std::memory_order_relaxed);
  guidance.from.store(0, std::memory_order_relaxed);
  guidance.to.store(0, std::memory_order_relaxed);
  // One that was duplicated or inherited may have been told something else.
  guidance.advice.store(-1, std::memory_order_relaxed);
  // Most programs begin there, and the first read counts for the system's own reading ahead.
  const AdviceKind first = of_descriptor(table_.part(rule, 0).kind);
  if (first != AdviceKind::normal) {
    set_advice(number, guidance, first);
  }
  descriptor.stream.store(0, std::memory_order_relaxed);
  detections[number].position.store(0, std::memory_order_relaxed);
  return Descriptor::first_guided + found;
}

void Guide::note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes,
                 std::uint64_t took) noexcept {
  const std::uint32_t state = descriptor.state.load(std::memory_order_acquire);
  if (bytes == 0 || state < Descriptor::first_guided || state - Descriptor::first_guided >= table_.files()) {
    return;
  }
  AdvisedFile& file = table_.file(state - Descriptor::first_guided);
  if (took != 0) {
    file.counts.count(bytes, took);
  }
  Guidance& guidance = guidances[number];
  if (file.given_up.load(std::memory_order_relaxed) != not_given_up) {
    set_advice(number, guidance, AdviceKind::normal);
    std::uint32_t seen = state;
    descriptor.state.compare_exchange_strong(seen, Descriptor::ignored, std::memory_order_release);
    return;
  }
  if (offset >= guidance.from.load(std::memory_order_relaxed) &&
      offset + bytes <= guidance.to.load(std::memory_order_relaxed)) {
    if (!table_.is_served() && file.blocks.has_work()) {
      helper.advise(number, state, file, table_.sizes(guidance.rule.load(std::memory_order_relaxed), 0).block_bytes);
    }
    return;
  }
  const std::uint32_t rule = guidance.rule.load(std::memory_order_relaxed);
  const AdviceTable::Noted noted = table_.note(rule, file, offset, bytes, this_reader(number), this_period());
  set_advice(number, guidance, of_descriptor(noted.kind));
  // Of two threads that share the descriptor, none leaves bounds that only together are wrong.
  guidance.to.store(0, std::memory_order_relaxed);
  guidance.from.store(noted.inside.offset, std::memory_order_relaxed);
  guidance.to.store(noted.inside.end, std::memory_order_relaxed);
  if (noted.block_bytes != 0 && file.blocks.has_work()) {
    advise(number, state, file, noted.block_bytes);
  }
}

void Guide::advise(int number, std::uint32_t state, AdvisedFile& file, std::uint64_t block_bytes) noexcept {
  if (!table_.is_served()) {
    helper.advise(number, state, file, block_bytes);
    return;
  }
  // The reader that is noted as the holder may have closed its descriptor.
  file.holder.store(this_reader(number), std::memory_order_relaxed);
  table_.tell(state - Descriptor::first_guided, [](std::atomic<std::uint32_t>& word) {
    bare_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, 1);
  });
}

}  // namespace dovetail::prefetching
