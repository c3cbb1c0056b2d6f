// What rings said of a buffer or a file, as the C face says it.
#pragma once

#include <cstdint>

#include "dovetail/dovetail_buffers.h"
#include "dovetail/registration.hpp"

namespace dovetail::c {

inline std::int32_t translate(Registration registration) noexcept {
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
