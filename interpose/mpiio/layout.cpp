#include "layout.hpp"

namespace dovetail::interpose::mpiio {

LayoutPointer Layout::run(std::uint64_t bytes) {
  return bytes == 0 ? nullptr : LayoutPointer(new Layout(Kind::run, bytes));
}

LayoutPointer Layout::repeat(std::uint64_t count, std::int64_t stride, const LayoutPointer& layout) {
  if (count == 0 || layout == nullptr) {
    return nullptr;
  }
  if (count == 1) {
    return layout;
  }
  if (layout->is_run() && stride >= 0 && static_cast<std::uint64_t>(stride) == layout->bytes_) {
    return run(count * layout->bytes_);
  }
  const bool goes_on =
      layout->kind_ == Kind::repeat && stride == static_cast<std::int64_t>(layout->count_) * layout->stride_;
  const std::shared_ptr<Layout> made(new Layout(Kind::repeat, count * layout->bytes_));
  made->count_ = goes_on ? count * layout->count_ : count;
  made->stride_ = goes_on ? layout->stride_ : stride;
  made->repeated_ = goes_on ? layout->repeated_ : layout;
  return made;
}

LayoutPointer Layout::list(const std::vector<Entry>& entries) {
  std::vector<Entry> kept;
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) {
    if (entry.layout == nullptr) {
      continue;
    }
    Entry* const last = kept.empty() ? nullptr : &kept.back();
    if (last != nullptr && last->layout->is_run() && entry.layout->is_run() &&
        last->displacement + static_cast<std::int64_t>(last->layout->bytes_) == entry.displacement) {
      last->layout = run(last->layout->bytes_ + entry.layout->bytes_);
    } else {
      kept.push_back({entry.displacement, entry.layout, bytes});
    }
    bytes += entry.layout->bytes_;
  }
  if (kept.empty()) {
    return nullptr;
  }
  if (kept.size() == 1 && kept.front().displacement == 0) {
    return kept.front().layout;
  }
  const std::shared_ptr<Layout> made(new Layout(Kind::list, bytes));
  made->entries_ = std::move(kept);
  return made;
}

}  // namespace dovetail::interpose::mpiio
