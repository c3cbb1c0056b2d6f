#include "observation_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace dovetail::observer {
namespace {

using prefetching::Observation;

// Reads that follow each other at once are one, up to this size.
constexpr std::uint64_t largest_joined = 1U << 20;
constexpr std::uint64_t at_once = 1'000'000;
constexpr std::uint64_t nanoseconds_of_a_second = 1'000'000'000;

}  // namespace

ObservationLog::ObservationLog(std::byte* memory, std::uint64_t bytes)
    : header_(reinterpret_cast<Observation::Header*>(memory)),
      slots_(reinterpret_cast<Slot*>(header_ + 1)),
      page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  if (bytes < sizeof(Observation::Header) || header_->magic != Observation::magic ||
      header_->slots > (bytes - sizeof(Observation::Header)) / sizeof(Slot)) {
    throw std::runtime_error("the memory is no log");
  }
}

void ObservationLog::note(const page_event& event, std::string_view names) {
  if (event.kind == page_event_name) {
    name(event, names);
  } else if (event.kind == page_event_read) {
    read(event);
  }
}

ObservationLog::Slot* ObservationLog::take(std::uint64_t count) noexcept {
  const std::uint64_t number = header_->used.fetch_add(count, std::memory_order_relaxed);
  return number + count <= header_->slots ? slots_ + number : nullptr;
}

void ObservationLog::name(const page_event& event, std::string_view names) {
  const std::pair key(event.file.device, event.file.inode);
  if (files_.contains(key)) {
    return;
  }
  Known& known = files_[key];
  const std::optional<FoundFile> found = file_systems_.find(event.file, names);
  if (!found) {
    return;
  }
  const std::uint64_t bytes = found->path.size() + 1;
  const std::uint64_t more = (bytes + sizeof(Slot) - 1) / sizeof(Slot);
  Slot* slot = take(1 + more);
  if (slot == nullptr) {
    return;
  }
  known = {found->status.st_dev, found->status.st_ino};
  slot->device = known.device;
  slot->inode = known.inode;
  // Behind it come the reads, also those that have begun before it was told.
  slot->begun = 0;
  slot->offset = static_cast<std::uint64_t>(found->status.st_mtim.tv_sec) * nanoseconds_of_a_second +
                 static_cast<std::uint64_t>(found->status.st_mtim.tv_nsec);
  slot->bytes.store(static_cast<std::uint64_t>(found->status.st_size), std::memory_order_relaxed);
  slot->process = event.process;
  slot->more = static_cast<std::uint16_t>(more);
  slot->kind.store(Observation::Kind::file, std::memory_order_relaxed);
  std::memcpy(static_cast<void*>(slot + 1), found->path.c_str(), bytes);
}

bool ObservationLog::join(Slot& slot, const Known& file, std::uint64_t offset, std::uint64_t bytes,
                          const page_event& event) {
  const std::uint64_t before = slot.bytes.load(std::memory_order_relaxed);
  const std::uint64_t end = offset + bytes;
  if (slot.device != file.device || slot.inode != file.inode || offset < slot.offset || offset > slot.offset + before ||
      end - slot.offset > largest_joined || event.begun > slot.ended.load(std::memory_order_relaxed) + at_once) {
    return false;
  }
  slot.bytes.store(std::max(before, end - slot.offset), std::memory_order_relaxed);
  slot.ended.store(event.ended, std::memory_order_relaxed);
  return true;
}

void ObservationLog::read(const page_event& event) {
  const auto known = files_.find({event.file.device, event.file.inode});
  if (known == files_.end() || known->second.inode == 0) {
    return;
  }
  const Known& file = known->second;
  Slot*& last = last_[event.thread];
  // What the thread has read again in between was not told.
  if (last != nullptr && event.idle > last->ended.load(std::memory_order_relaxed)) {
    last->ended.store(event.idle, std::memory_order_relaxed);
  }
  const std::uint64_t offset = event.first * page_;
  const std::uint64_t bytes = (event.last - event.first + 1) * page_;
  if (event.last < event.first || (last != nullptr && join(*last, file, offset, bytes, event))) {
    return;
  }
  Slot* slot = take(1);
  if (slot == nullptr) {
    return;
  }
  slot->begun = event.begun;
  slot->ended.store(event.ended, std::memory_order_relaxed);
  slot->device = file.device;
  slot->inode = file.inode;
  slot->offset = offset;
  slot->bytes.store(bytes, std::memory_order_relaxed);
  slot->process = event.process;
  slot->kind.store(Observation::Kind::read, std::memory_order_relaxed);
  last = slot;
}

}  // namespace dovetail::observer
