/// @file
/// Spaces of regions of the program's own. They are for things whose parts tasks use and which are neither memory nor a file. Examples are
/// the window of another rank, the tags of a communicator, the rows of a remote table.
///
///     const Space rank_3 = Space::make("rank 3");
///     rt.spawn({.label = "put", .access = {in(block), out(rank_3, offset, bytes)}}, put);
///     rt.spawn({.label = "get", .access = {in(rank_3, offset, bytes), out(copy)}}, get);  // after the put
///
/// Nothing here suspends. All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dovetail/access.hpp"

namespace dovetail {

namespace tasking {
struct NamedSpace;
}

/// A space of regions, ordered by the same rules as memory and files. Reports of what waits for what, and traces, name the space and the
/// regions that tasks use in it. Copies are the same space. Its name is kept as long as there is one of them: keep one while tasks use it.
class Space {
 public:
  /// No space.
  Space() noexcept = default;
  /// Makes a space. Each call makes another one, also with the same name. @throws std::bad_alloc.
  static Space make(std::string_view name);

  /// Whether it is one.
  explicit operator bool() const noexcept { return made_ != nullptr; }
  /// The name. @throws std::logic_error if this is no space.
  const std::string& name() const;
  /// Its number, for `Region::space`: never that of memory or of another space. @throws As `name`: it would be taken for memory.
  std::uint64_t number() const;

 private:
  explicit Space(std::shared_ptr<const tasking::NamedSpace> made) noexcept : made_(std::move(made)) {}
  std::shared_ptr<const tasking::NamedSpace> made_;
};

/// @name Regions of a space as accesses
/// Units `[offset, offset + length)` of a space, whatever a unit is there.
/// @{
inline Access in(const Space& space, std::uint64_t offset, std::uint64_t length) {
  return {{space.number(), offset, length}, AccessMode::in};
}
inline Access out(const Space& space, std::uint64_t offset, std::uint64_t length) {
  return {{space.number(), offset, length}, AccessMode::out};
}
inline Access inout(const Space& space, std::uint64_t offset, std::uint64_t length) {
  return {{space.number(), offset, length}, AccessMode::inout};
}
inline Access commutative(const Space& space, std::uint64_t offset, std::uint64_t length) {
  return {{space.number(), offset, length}, AccessMode::commutative};
}
/// @}

}  // namespace dovetail
