// Which bytes a data type means, as a small tree: a vector of a million blocks is one node, not a million extents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dovetail::interpose::mpiio {

class Layout;
/// Null: no bytes.
using LayoutPointer = std::shared_ptr<const Layout>;

/// Displacements are in bytes, from where the type is applied; they may be negative. The order of the data is the order of the type map. Immutable.
class Layout {
 public:
  struct Entry {
    std::int64_t displacement = 0;
    LayoutPointer layout;
    std::uint64_t before = 0;  ///< Bytes of data before it, in the list.
  };

  /// So many bytes one behind the other, from displacement 0 on.
  static LayoutPointer run(std::uint64_t bytes);
  /// `count` times the same, `stride` bytes apart.
  static LayoutPointer repeat(std::uint64_t count, std::int64_t stride, const LayoutPointer& layout);
  /// One behind the other in the data; `before` is set here.
  static LayoutPointer list(const std::vector<Entry>& entries);

  /// Of data.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// All of it lies together from displacement 0 on.
  bool is_run() const noexcept { return kind_ == Kind::run; }

  /// Calls `found(displacement, bytes)` for each run among the `take` bytes of data behind the first `skip`, in the order of the data, until it
  /// returns false. `at` is added to the displacements. Returns whether it has come to the end.
  template <class Found>
  bool visit(std::int64_t at, std::uint64_t skip, std::uint64_t take, const Found& found) const {
    take = std::min(take, bytes_ - skip);
    switch (kind_) {
      case Kind::run:
        return found(at + static_cast<std::int64_t>(skip), take);
      case Kind::repeat:
        return visit_repeated(at, skip, take, found);
      default:
        return visit_list(at, skip, take, found);
    }
  }

 private:
  enum class Kind : std::uint8_t { run, repeat, list };
  Layout(Kind kind, std::uint64_t bytes) : kind_(kind), bytes_(bytes) {}

  template <class Found>
  bool visit_repeated(std::int64_t at, std::uint64_t skip, std::uint64_t take, const Found& found) const {
    const std::uint64_t each = repeated_->bytes_;
    std::uint64_t index = skip / each;
    skip %= each;
    while (take != 0) {
      const std::uint64_t part = std::min(take, each - skip);
      if (!repeated_->visit(at + static_cast<std::int64_t>(index) * stride_, skip, part, found)) {
        return false;
      }
      take -= part;
      skip = 0;
      ++index;
    }
    return true;
  }

  template <class Found>
  bool visit_list(std::int64_t at, std::uint64_t skip, std::uint64_t take, const Found& found) const {
    auto next = std::upper_bound(entries_.begin(), entries_.end(), skip,
                                 [](std::uint64_t bytes, const Entry& entry) { return bytes < entry.before; });
    --next;
    skip -= next->before;
    for (; take != 0; ++next) {
      const std::uint64_t part = std::min(take, next->layout->bytes_ - skip);
      if (!next->layout->visit(at + next->displacement, skip, part, found)) {
        return false;
      }
      take -= part;
      skip = 0;
    }
    return true;
  }

  Kind kind_;
  std::uint64_t bytes_;
  std::uint64_t count_ = 0;
  std::int64_t stride_ = 0;
  LayoutPointer repeated_{};
  std::vector<Entry> entries_{};
};

/// A data type: its bytes, and how far it is to the next of the same kind.
struct TypeLayout {
  LayoutPointer layout{};  ///< Null: it has no data.
  std::int64_t extent = 0;
  std::uint64_t bytes = 0;

  /// Of `count` of them.
  LayoutPointer times(std::uint64_t count) const { return Layout::repeat(count, extent, layout); }
};

}  // namespace dovetail::interpose::mpiio
