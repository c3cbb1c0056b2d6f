// The spaces that the program made, by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dovetail/access.hpp"
#include "dovetail/space.hpp"

namespace dovetail::tasking {

/// Lives as long as the program has the space.
struct NamedSpace {
  explicit NamedSpace(std::string_view given);
  ~NamedSpace();
  NamedSpace(const NamedSpace&) = delete;
  NamedSpace& operator=(const NamedSpace&) = delete;
  const std::string name;
  const std::uint64_t number;
};

/// Numbers of spaces have this above their lower half. The number of a file may have, once in 2^32 files: it is then no name's.
inline constexpr std::uint64_t named_space_mark = 0xffff'fffeU;
constexpr bool may_be_named(std::uint64_t space) noexcept { return space >> 32 == named_space_mark; }

/// The regions of named spaces among these accesses, in words. They are recorded as accesses of the task with this number.
std::string record_named_accesses(std::uint64_t task, const AccessList& accesses);

/// Records those accesses of the task that `record_named_accesses` does not: of memory and of files.
void record_accesses(std::uint64_t task, const AccessList& accesses) noexcept;

}  // namespace dovetail::tasking
