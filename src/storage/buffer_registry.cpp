#include "storage/buffer_registry.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/huge_pages.hpp"
#include "dovetail/buffers.hpp"

namespace dovetail::storage {
namespace {

constexpr std::uint16_t unregistered = 0xffff;

std::size_t whole_pieces(std::size_t bytes) noexcept {
  return (bytes + BufferRegistry::piece - 1) / BufferRegistry::piece;
}

}  // namespace

BufferRegistry& BufferRegistry::instance() noexcept {
  static auto* made = new BufferRegistry;
  return *made;
}

bool BufferRegistry::reserve() {
  if (all_ != nullptr || refused_) {
    return all_ != nullptr;
  }
  void* const range =
      mmap(nullptr, piece * (pieces + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    refused_ = true;  // a limit on addresses, perhaps: plain memory will do
    return false;
  }
  all_ = std::make_unique<Slot[]>(slots);
  owner_.resize(pieces);
  for (unsigned slot = slots; slot > 0; --slot) {
    free_slots_.push_back(slot - 1);
  }
  process_.store(getpid(), std::memory_order_relaxed);
  base_.store((reinterpret_cast<std::uintptr_t>(range) + piece - 1) / piece * piece, std::memory_order_release);
  return true;
}

// Whether this is the child of a fork: then it is unknown which thread held the lock.
bool BufferRegistry::inherited() const noexcept {
  const int process = process_.load(std::memory_order_relaxed);
  return process != 0 && process != getpid();
}

std::byte* BufferRegistry::allocate(std::size_t bytes) noexcept {
  std::byte* data = nullptr;
  if (!inherited() && allocate_in_range(bytes, data)) {
    return data;
  }
  void* const plain = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return plain == MAP_FAILED ? nullptr : static_cast<std::byte*>(plain);
}

// False where plain memory will have to do. `data` stays null if there is none at all.
bool BufferRegistry::allocate_in_range(std::size_t bytes, std::byte*& data) noexcept try {
  const base::LockGuard lock(mutex_);
  const std::size_t count = whole_pieces(bytes);
  if (count > pieces || !reserve()) {
    return false;
  }
  const auto found = std::search_n(owner_.begin(), owner_.end(), static_cast<std::ptrdiff_t>(count), 0);
  if (found == owner_.end()) {
    return false;
  }
  auto* const begin = reinterpret_cast<std::byte*>(base_.load(std::memory_order_relaxed)) +
                      static_cast<std::size_t>(found - owner_.begin()) * piece;
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) {
    return true;
  }
  base::prefer_huge_pages(begin, bytes);
  std::uint16_t owner = unregistered;
  if (!free_slots_.empty()) {
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    owner = static_cast<std::uint16_t>(slot + 1);
    all_[slot].data = begin;
    all_[slot].size = bytes;
    ++all_[slot].generation;
    all_[slot].accepted.store(false, std::memory_order_relaxed);
    all_[slot].error.store(0, std::memory_order_relaxed);
  }
  std::fill_n(found, count, owner);
  data = begin;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void BufferRegistry::release(std::byte* data, std::size_t bytes) noexcept {
  const std::uintptr_t base = base_.load(std::memory_order_acquire);
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(data) - base) / piece;
  if (base == 0 || first >= pieces) {
    munmap(data, bytes);
    return;
  }
  if (inherited()) {
    return;  // the rings are the parent's, and so is what they have registered
  }
  const base::LockGuard lock(mutex_);
  if (const std::uint16_t owner = owner_[first]; owner != unregistered) {
    const unsigned slot = owner - 1U;
    for (BufferUser* user : users_) {
      user->forget_buffer(slot);
    }
    free_slots_.push_back(slot);  // has room: it had as many at first
  }
  std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(first), whole_pieces(bytes), std::uint16_t{0});
  // The addresses stay ours; the memory goes back.
  void* const gone = mmap(data, whole_pieces(bytes) * piece, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (gone == MAP_FAILED) {
    madvise(data, bytes, MADV_DONTNEED);  // too many mappings: then it stays readable, as zeros
  }
}

// Without the lock: a thread that transfers to a buffer sees what its making wrote, and the buffer is not dropped
// meanwhile.
BufferRegistry::Found BufferRegistry::look_up(const void* data, std::size_t bytes) noexcept {
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::uint16_t owner =
      owner_[(reinterpret_cast<std::uintptr_t>(data) - base_.load(std::memory_order_relaxed)) / piece];
  if (owner == 0 || owner == unregistered) {
    return {};
  }
  const Slot& slot = all_[owner - 1U];
  if (begin < slot.data || bytes > slot.size || begin > slot.data + (slot.size - bytes)) {
    return {};
  }
  return {owner - 1U, slot.generation, slot.data, slot.size};
}

void BufferRegistry::add(BufferUser* user) {
  const base::LockGuard lock(mutex_);
  users_.push_back(user);
}

void BufferRegistry::remove(BufferUser* user) noexcept {
  const base::LockGuard lock(mutex_);
  std::erase(users_, user);
}

void BufferRegistry::note(unsigned slot, int error) noexcept {
  if (error == 0) {
    all_[slot].accepted.store(true, std::memory_order_relaxed);
  } else {
    all_[slot].error.store(error, std::memory_order_relaxed);
  }
}

BufferRegistry::Answer BufferRegistry::answer(const std::byte* data) noexcept {
  const Found found = find(data, 1);
  return found.slot == slots ? Answer{.error = ENOSPC}
                             : Answer{all_[found.slot].accepted.load(std::memory_order_relaxed),
                                      all_[found.slot].error.load(std::memory_order_relaxed)};
}

}  // namespace dovetail::storage

namespace dovetail {

IoBuffer::IoBuffer(std::size_t bytes) : size_(bytes) {
  data_ = storage::BufferRegistry::instance().allocate(std::max<std::size_t>(bytes, 1));
  if (data_ == nullptr) {
    throw std::bad_alloc();
  }
}

IoBuffer::~IoBuffer() {
  if (data_ != nullptr) {
    storage::BufferRegistry::instance().release(data_, std::max<std::size_t>(size_, 1));
  }
}

IoBuffer::Registration IoBuffer::registration() const noexcept {
  const bool accepted = data_ != nullptr && storage::BufferRegistry::instance().answer(data_).accepted;
  return registration_error() != 0 ? Registration::refused : accepted ? Registration::accepted : Registration::none;
}

int IoBuffer::registration_error() const noexcept {
  return data_ == nullptr ? 0 : storage::BufferRegistry::instance().answer(data_).error;
}

}  // namespace dovetail
