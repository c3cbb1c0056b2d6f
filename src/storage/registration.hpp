// What a program is told of the answers of rings.
#pragma once

#include "dovetail/registration.hpp"

namespace dovetail::storage {

/// @param answers Bit 0: some ring accepted; bit 1: some refused.
constexpr Registration registration_of(unsigned answers) noexcept {
  return (answers & 2) != 0 ? Registration::refused : answers != 0 ? Registration::accepted : Registration::none;
}

}  // namespace dovetail::storage
