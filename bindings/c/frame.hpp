// What a task that was spawned from C keeps. A future of C is a reference to such a task.
#pragma once

#include <cstdint>

#include "dovetail/detail/body.hpp"
#include "dovetail/dovetail.h"

namespace dovetail::c {

/// The frame of a task whose body is a C function. A copied argument follows it.
struct alignas(detail::frame_alignment) Frame {
  dovetail_body body = nullptr;
  dovetail_fallible_body fallible_body = nullptr;
  void* argument = nullptr;
  void (*destroy)(void* argument) = nullptr;
  std::int32_t result = 0;
  bool copy_on_heap = false;
};

inline dovetail_future* as_future(detail::Task* task) noexcept { return reinterpret_cast<dovetail_future*>(task); }
inline detail::Task* as_task(const dovetail_future* future) noexcept {
  return reinterpret_cast<detail::Task*>(const_cast<dovetail_future*>(future));
}

}  // namespace dovetail::c
