#include "prefetch/plan.hpp"

#include <algorithm>

#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t most_files = 1U << 20;
constexpr std::uint64_t most_extents = 1U << 24;
constexpr std::uint64_t unit_of_windows = 4096;
constexpr std::uint32_t smallest_piece = 4096;
constexpr std::uint32_t largest_piece = 1U << 30;
constexpr std::uint64_t parts_of_windows = 256;

}  // namespace

// Behind the header: the files, the extents, the progress of each file, the order by offset, a byte for each extent.
Plan Plan::in(std::byte* memory, std::uint64_t bytes) noexcept {
  Plan plan;
  if (memory == nullptr || bytes < sizeof(Header)) {
    return plan;
  }
  const auto* header = reinterpret_cast<const Header*>(memory);
  // Others can write there: what was checked is what is used.
  const std::uint64_t files = header->files;
  const std::uint64_t extents = header->extents;
  if (header->magic != magic || header->bytes != bytes || files > most_files || extents > most_extents) {
    return plan;
  }
  const std::uint64_t extents_at = sizeof(Header) + files * sizeof(Entry);
  const std::uint64_t progress_at = extents_at + extents * sizeof(Extent);
  const std::uint64_t by_offset_at = progress_at + files * sizeof(Progress);
  const std::uint64_t come_to_at = by_offset_at + extents * sizeof(std::uint32_t);
  if (come_to_at + extents != bytes) {
    return plan;
  }
  plan.header_ = header;
  plan.entries_ = reinterpret_cast<const Entry*>(memory + sizeof(Header));
  plan.extents_ = reinterpret_cast<const Extent*>(memory + extents_at);
  plan.progress_ = reinterpret_cast<Progress*>(memory + progress_at);
  plan.by_offset_ = reinterpret_cast<const std::uint32_t*>(memory + by_offset_at);
  plan.come_to_ = reinterpret_cast<std::atomic<std::uint8_t>*>(memory + come_to_at);
  plan.files_ = static_cast<std::uint32_t>(files);
  plan.all_extents_ = extents;
  plan.timed_ = header->timed != 0;
  return plan;
}

std::uint32_t Plan::find(const FileIdentity& identity) const noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = files_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const FileIdentity& there = entries_[middle].identity;
    if (there.device < identity.device || (there.device == identity.device && there.inode < identity.inode)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == files_) {
    return files_;
  }
  const FileIdentity& there = entries_[low].identity;
  const bool same = there.device == identity.device && there.inode == identity.inode && there.size == identity.size &&
                    there.seconds == identity.seconds && there.nanoseconds == identity.nanoseconds;
  return same ? low : files_;
}

FilePlan Plan::file(std::uint32_t number) const noexcept {
  const Entry entry = entries_[number];
  FilePlan plan;
  if (entry.first > all_extents_ || entry.count > all_extents_ - entry.first || entry.piece == 0) {
    return plan;
  }
  plan.extents = extents_ + entry.first;
  plan.by_offset = by_offset_ + entry.first;
  plan.come_to = come_to_ + entry.first;
  plan.progress = progress_ + number;
  plan.count = entry.count;
  plan.piece = std::clamp(entry.piece, smallest_piece, largest_piece);
  plan.gap = entry.gap;
  plan.size = std::min(entry.identity.size, far_end);
  plan.window = entry.window * unit_of_windows;
  const std::uint64_t part = header_->part_of_windows.load(std::memory_order_relaxed);
  if (part != 0 && part < parts_of_windows) {
    plan.window = plan.window / parts_of_windows * part;
  }
  return plan;
}

}  // namespace dovetail::prefetching
