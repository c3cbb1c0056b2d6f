// Large transfers, cut up: several pieces are under way at once, and pieces of arrays that lie askew go through aligned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dovetail/file.hpp"
#include "dovetail/runtime.hpp"

namespace dovetail::python {

/// Transfers of fewer bytes are not cut up.
inline constexpr std::size_t smallest_cut = std::size_t{8} << 20;

/// As `File::pread` and `File::pwrite`. `runtime` (may be null) runs the pieces. To be called without the interpreter; may pause.
std::size_t read_all(const File& file, std::span<std::byte> data, std::uint64_t offset, Runtime* runtime);
std::size_t write_all(const File& file, std::span<const std::byte> data, std::uint64_t offset, Runtime* runtime);

}  // namespace dovetail::python
