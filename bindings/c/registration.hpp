// What rings said of buffers and files, as C knows it.
#pragma once

#include <cstdint>

#include "dovetail/dovetail_buffers.h"
#include "dovetail/registration.hpp"

namespace dovetail::c {

constexpr std::int32_t translate(Registration registration) noexcept {
  switch (registration) {
    case Registration::accepted:
      return DOVETAIL_REGISTRATION_ACCEPTED;
    case Registration::refused:
      return DOVETAIL_REGISTRATION_REFUSED;
    default:
      return DOVETAIL_REGISTRATION_NONE;
  }
}

}  // namespace dovetail::c
