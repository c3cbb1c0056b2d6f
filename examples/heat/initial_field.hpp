/// @file
/// Reads the field that a run begins with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "field.hpp"
#include "options.hpp"
#include "part.hpp"

namespace heat {

/// Reads a field file and scales it to `size` (default: its own) by bilinear interpolation. The format, all values little
/// endian: 8 bytes "HEATFLD1", rows and columns as 64-bit unsigned integers, then float64 row by row.
/// @returns The part of it that `part_of` says.
/// @throws BadInput naming the file and what is wrong with it.
Field load_initial_field(const std::string& path, const std::optional<Size>& size, std::size_t block,
                         const PartOf& part_of = Part::all);

}  // namespace heat
