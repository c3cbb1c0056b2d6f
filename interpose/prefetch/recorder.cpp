#include "recorder.hpp"

#include <time.h>
#include <unistd.h>

#include <cstring>

#include "prefetch/waiting.hpp"

namespace dovetail::prefetching {
namespace {

// Reads that follow each other at once are one, up to this size.
constexpr std::uint64_t largest_joined = 1U << 20;
constexpr std::uint64_t at_once = 1'000'000;
constexpr std::size_t longest_path = 4096;

}  // namespace

constinit Recorder recorder;

std::uint64_t nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

bool Recorder::start(void* memory, std::uint64_t bytes) noexcept {
  auto* header = static_cast<Observation::Header*>(memory);
  if (bytes < sizeof(Observation::Header) || header->magic != Observation::magic ||
      header->slots > (bytes - sizeof(Observation::Header)) / sizeof(Observation::Slot)) {
    return false;
  }
  slots_ = reinterpret_cast<Observation::Slot*>(header + 1);
  count_ = header->slots;
  header->processes.fetch_add(1, std::memory_order_relaxed);
  header_ = header;
  return true;
}

Observation::Slot* Recorder::take(std::uint64_t count, std::uint64_t& number) noexcept {
  number = header_->used.fetch_add(count, std::memory_order_relaxed);
  return number + count <= count_ && number < count_ ? slots_ + number : nullptr;
}

std::uint32_t Recorder::begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept {
  char path[longest_path];
  const std::uint64_t bytes = name_of(number, path, sizeof path);
  if (bytes == 0) {
    return Descriptor::ignored;
  }
  const std::uint64_t more = (bytes + sizeof(Observation::Slot) - 1) / sizeof(Observation::Slot);
  std::uint64_t taken = 0;
  Observation::Slot* slot = take(1 + more, taken);
  if (slot == nullptr) {
    return Descriptor::ignored;
  }
  slot->more = static_cast<std::uint16_t>(more);
  slot->process = static_cast<std::uint32_t>(getpid());
  slot->device = identity.device;
  slot->inode = identity.inode;
  slot->begun = nanoseconds();
  slot->offset = identity.seconds * 1'000'000'000 + identity.nanoseconds;
  slot->bytes.store(identity.size, std::memory_order_relaxed);
  slot->kind.store(Observation::Kind::file, std::memory_order_release);
  std::memcpy(static_cast<void*>(slot + 1), path, bytes);
  descriptor.device.store(identity.device, std::memory_order_relaxed);
  descriptor.inode.store(identity.inode, std::memory_order_relaxed);
  descriptor.last.store(0, std::memory_order_relaxed);
  return Descriptor::first_file;
}

bool Recorder::join(Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t begun,
                    std::uint64_t ended) noexcept {
  const std::uint64_t last = descriptor.last.load(std::memory_order_relaxed);
  if (last == 0) {
    return false;
  }
  Observation::Slot& slot = slots_[last - 1];
  const std::uint64_t before = slot.bytes.load(std::memory_order_relaxed);
  if (slot.offset + before != offset || before + bytes > largest_joined ||
      begun - slot.ended.load(std::memory_order_relaxed) > at_once) {
    return false;
  }
  slot.bytes.store(before + bytes, std::memory_order_relaxed);
  slot.ended.store(ended, std::memory_order_relaxed);
  if (const std::uint64_t waited = waited_in(bytes, ended - begun); waited != 0) {
    slot.waited.store(slot.waited.load(std::memory_order_relaxed) + waited, std::memory_order_relaxed);
  }
  return true;
}

void Recorder::note(Descriptor& descriptor, Observation::Kind kind, std::uint64_t offset, std::uint64_t bytes,
                    std::uint64_t begun, std::uint64_t ended) noexcept {
  if (kind == Observation::Kind::read && !traces_ && join(descriptor, offset, bytes, begun, ended)) {
    return;
  }
  std::uint64_t number = 0;
  Observation::Slot* slot = take(1, number);
  if (slot == nullptr) {
    return;
  }
  slot->begun = begun;
  slot->ended.store(ended, std::memory_order_relaxed);
  slot->device = descriptor.device.load(std::memory_order_relaxed);
  slot->inode = descriptor.inode.load(std::memory_order_relaxed);
  slot->offset = offset;
  slot->bytes.store(bytes, std::memory_order_relaxed);
  slot->waited.store(waited_in(bytes, ended - begun), std::memory_order_relaxed);
  slot->process = static_cast<std::uint32_t>(getpid());
  slot->kind.store(kind, std::memory_order_release);
  if (kind == Observation::Kind::read) {
    descriptor.last.store(number + 1, std::memory_order_relaxed);
  }
}

}  // namespace dovetail::prefetching
