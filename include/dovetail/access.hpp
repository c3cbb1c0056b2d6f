/// @file
/// What a task reads and writes. A region is a range of bytes in memory or in a file. The runtime orders tasks whose regions overlap by the
/// order in which they were spawned. Declaring is free of side effects and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

namespace dovetail {
class File;
class Space;

/// How a task uses a region.
enum class AccessMode : std::uint8_t {
  in,           ///< Reads: ordered after earlier writers, concurrent with other readers.
  out,          ///< Overwrites: ordered after everything earlier on the region.
  inout,        ///< Reads and overwrites: ordered as `out`.
  commutative,  ///< Updates in any order, but never two at once, with other commutative accesses of the same region.
};

/// A half-open range of bytes `[begin, begin + length)` in a space.
struct Region {
  /// 0 is the memory of this process; every file has a number of its own (see `File::space`), and so has every `Space`.
  std::uint64_t space = 0;
  /// First byte: an address in memory, an offset in a file.
  std::uint64_t begin = 0;
  /// Length in bytes. A region of length 0 overlaps nothing.
  std::uint64_t length = 0;
};

/// One declared use of one region.
struct Access {
  Region region;                     ///< Which bytes.
  AccessMode mode = AccessMode::in;  ///< What for.
};

namespace detail {

template <class T>
concept BytesOfItsOwn = std::ranges::contiguous_range<T> && std::ranges::sized_range<T>;

template <class T>
Region region_of(const T& data) noexcept {
  if constexpr (BytesOfItsOwn<const T>) {
    const auto count = static_cast<std::uint64_t>(std::ranges::size(data));
    if (count > 0 || std::ranges::borrowed_range<T>) {
      return {0, reinterpret_cast<std::uint64_t>(std::ranges::data(data)),
              count * sizeof(std::ranges::range_value_t<const T>)};
    }
  }
  return {0, reinterpret_cast<std::uint64_t>(std::addressof(data)), sizeof(T)};
}

template <class T>
Region region_of(const T* data, std::size_t count) noexcept {
  if constexpr (std::is_void_v<T>) {
    return {0, reinterpret_cast<std::uint64_t>(data), count};
  } else {
    return {0, reinterpret_cast<std::uint64_t>(data), count * sizeof(T)};
  }
}

// Objects that are used by region: the bytes of the object itself mean nothing.
template <class T>
concept HasRegions = std::is_same_v<T, Region> || std::is_same_v<T, File> || std::is_same_v<T, Space>;

template <class T>
concept Declarable = !std::is_pointer_v<std::remove_cvref_t<T>> && !HasRegions<std::remove_cvref_t<T>> &&
                     (std::is_lvalue_reference_v<T> || std::ranges::borrowed_range<std::remove_cvref_t<T>>);

template <class T>
concept Pointer = std::is_pointer_v<T>;

}  // namespace detail

/// @name Declaring an access
/// `data` is an object (its own bytes), an array, or a contiguous range (the bytes of its elements). Examples of ranges are `std::span` and
/// `std::vector`. An owning container that is empty stands for its own bytes. A pointer stands for the one object it points to, or with a
/// count for that many objects (bytes, when it is a `void` pointer).
/// @{
template <detail::Declarable T>
Access in(T&& data) noexcept {
  return {detail::region_of(data), AccessMode::in};
}
template <detail::Declarable T>
Access out(T&& data) noexcept {
  return {detail::region_of(data), AccessMode::out};
}
template <detail::Declarable T>
Access inout(T&& data) noexcept {
  return {detail::region_of(data), AccessMode::inout};
}
template <detail::Declarable T>
Access commutative(T&& data) noexcept {
  return {detail::region_of(data), AccessMode::commutative};
}
template <detail::Pointer P>
Access in(const P& data, std::size_t count = 1) noexcept {
  return {detail::region_of(data, count), AccessMode::in};
}
template <detail::Pointer P>
Access out(const P& data, std::size_t count = 1) noexcept {
  return {detail::region_of(data, count), AccessMode::out};
}
template <detail::Pointer P>
Access inout(const P& data, std::size_t count = 1) noexcept {
  return {detail::region_of(data, count), AccessMode::inout};
}
template <detail::Pointer P>
Access commutative(const P& data, std::size_t count = 1) noexcept {
  return {detail::region_of(data, count), AccessMode::commutative};
}
inline Access in(Region region) noexcept { return {region, AccessMode::in}; }
inline Access out(Region region) noexcept { return {region, AccessMode::out}; }
inline Access inout(Region region) noexcept { return {region, AccessMode::inout}; }
inline Access commutative(Region region) noexcept { return {region, AccessMode::commutative}; }
/// @}

/// The accesses of one task. Owns its elements; up to `inline_capacity` of them without an allocation.
class AccessList {
 public:
  /// How many accesses fit without an allocation.
  static constexpr std::size_t inline_capacity = 6;

  AccessList() noexcept {}
  /// Copies the accesses.
  AccessList(std::initializer_list<Access> accesses) { assign(accesses.begin(), accesses.size()); }
  /// Copies the accesses, for lists whose length is known only at run time.
  AccessList(std::span<const Access> accesses) { assign(accesses.data(), accesses.size()); }
  AccessList(const AccessList& other) { assign(other.begin(), other.size()); }
  AccessList& operator=(const AccessList& other) {
    if (this != &other) {
      assign(other.begin(), other.size());
    }
    return *this;
  }
  ~AccessList() = default;

  const Access* begin() const noexcept { return more_ ? more_.get() : few_; }  ///< First access.
  const Access* end() const noexcept { return begin() + size_; }               ///< Past the last access.
  std::size_t size() const noexcept { return size_; }                          ///< Number of accesses.
  bool empty() const noexcept { return size_ == 0; }                           ///< Whether there is none.

 private:
  void assign(const Access* accesses, std::size_t count) {
    Access* target = few_;
    more_.reset();
    if (count > inline_capacity) {
      more_ = std::make_unique<Access[]>(count);
      target = more_.get();
    }
    // Part by part, as they were written a moment ago: a wider load would have to wait until those stores have left the core.
    for (std::size_t i = 0; i < count; ++i) {
      target[i].region.space = accesses[i].region.space;
      target[i].region.begin = accesses[i].region.begin;
      target[i].region.length = accesses[i].region.length;
      target[i].mode = accesses[i].mode;
    }
    size_ = count;
  }

  // A union, so that a list costs only the accesses it holds and not the clearing of all its places.
  union {
    Access few_[inline_capacity];
  };
  std::unique_ptr<Access[]> more_;
  std::size_t size_ = 0;
};

}  // namespace dovetail
