#include "prefetch/detection_table.hpp"

#include <algorithm>

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t most_places = 1U << 16;
// What each file may ask for, whatever others have asked for.
constexpr std::uint64_t least_room = 1U << 20;
// Reads of other files after which what a file has asked for does not count any more: it was closed, say.
constexpr std::uint64_t old = 1024;

}  // namespace

Detector::Noted DetectedFile::note(std::uint64_t offset, std::uint64_t bytes, const Detector::Limits& limits,
                                   bool resting, bool repetition_rests) noexcept {
  const Detector::Noted noted =
      resting ? Detector::Noted::not_foretold : detector.note(offset, bytes, limits.beside(repetition.outstanding()));
  if (repetition_rests || (noted != Detector::Noted::not_foretold && noted != Detector::Noted::no_pattern)) {
    return noted;
  }
  return repetition.note(offset, bytes, limits.beside(detector.outstanding()), detector.counts()) &&
                 noted == Detector::Noted::not_foretold
             ? Detector::Noted::foretold
             : noted;
}

DetectionTable DetectionTable::in(std::byte* memory, std::uint64_t bytes) noexcept {
  DetectionTable table;
  if (memory == nullptr || bytes < sizeof(Header)) {
    return table;
  }
  auto* header = reinterpret_cast<Header*>(memory);
  const std::uint64_t files = header->files;
  if (header->magic != magic || header->bytes != bytes || files > most_places ||
      sizeof(Header) + files * sizeof(DetectedFile) + sizeof(OpenLog) != bytes) {
    return table;
  }
  table.header_ = header;
  table.table_ = reinterpret_cast<DetectedFile*>(memory + sizeof(Header));
  table.files_ = static_cast<std::uint32_t>(files);
  table.opens_ = reinterpret_cast<OpenLog*>(table.table_ + files);
  return table;
}

std::uint32_t DetectionTable::find(const FileIdentity& identity, bool& made) noexcept {
  made = false;
  if (files_ == 0 || identity.size < smallest_file) {
    return files_;
  }
  std::uint32_t number = files_;
  const Found found = find_place(
      table_, files_, identity, header_->devices, number, [](const DetectedFile&) { return true; },
      [](DetectedFile&) {});
  if (found == Found::changed) {
    table_[number].given_up.store(not_given_up, std::memory_order_relaxed);
    table_[number].detector.forget();
    table_[number].repetition.forget(table_[number].detector.counts());
  }
  made = found == Found::made;
  return found == Found::none ? files_ : number;
}

Detector::Limits DetectionTable::limits(const DetectedFile& file) const noexcept {
  const std::uint64_t window = header_->window.load(std::memory_order_relaxed);
  const std::uint64_t own = file.outstanding.load(std::memory_order_relaxed);
  std::uint64_t all = header_->outstanding.load(std::memory_order_relaxed);
  if (all > window / 2 && all - std::min(all, own) > window / 2) {
    release_old();
    all = header_->outstanding.load(std::memory_order_relaxed);
  }
  const std::uint64_t others = all - std::min(all, own);
  return {file.size.load(std::memory_order_relaxed), std::max(window - std::min(window, others), least_room), file.gap};
}

void DetectionTable::count_outstanding(DetectedFile& file) const noexcept {
  const std::uint64_t now = file.detector.outstanding() + file.repetition.outstanding();
  if (now != file.outstanding.load(std::memory_order_relaxed)) {
    const std::uint64_t before = file.outstanding.exchange(now, std::memory_order_relaxed);
    header_->outstanding.fetch_add(now - before, std::memory_order_relaxed);
  } else if (now == 0) {
    return;
  }
  file.turn.store(header_->turns.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
}

void DetectionTable::release_old() const noexcept {
  const std::uint64_t now = header_->turns.load(std::memory_order_relaxed);
  if (now - header_->released.load(std::memory_order_relaxed) < old) {
    return;
  }
  header_->released.store(now, std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < files_; ++number) {
    DetectedFile& file = table_[number];
    if (file.outstanding.load(std::memory_order_relaxed) != 0 &&
        now - file.turn.load(std::memory_order_relaxed) > old) {
      header_->outstanding.fetch_sub(file.outstanding.exchange(0, std::memory_order_relaxed),
                                     std::memory_order_relaxed);
    }
  }
}

}  // namespace dovetail::prefetching
