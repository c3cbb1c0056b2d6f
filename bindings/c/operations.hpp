// The operations on files, once for `dovetail_file_...` and `dovetail_descriptor_...`: `open` gives the `File` to work
// on, or throws.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {

static_assert(sizeof(dovetail_buffer) == sizeof(iovec) &&
              offsetof(dovetail_buffer, data) == offsetof(iovec, iov_base) &&
              offsetof(dovetail_buffer, length) == offsetof(iovec, iov_len));

inline std::span<std::byte> room(void* buffer, std::size_t length) {
  if (length > 0) {
    given(static_cast<std::byte*>(buffer), "buffer");
  }
  return {static_cast<std::byte*>(buffer), length};
}

inline std::span<const std::byte> content(const void* buffer, std::size_t length) {
  return room(const_cast<void*>(buffer), length);
}

inline std::span<const iovec> list(const dovetail_buffer* buffers, std::size_t count) {
  if (count > 0) {
    given(buffers, "buffers");
  }
  return {reinterpret_cast<const iovec*>(buffers), count};
}

/// Runs an operation that returns bytes.
template <class Open, class Operation>
std::int64_t count_of(const char* function, Open&& open, std::int64_t offset, Operation&& operation) {
  return guarded(function, [&] {
    const std::uint64_t begin = natural(offset, "offset");
    return static_cast<std::int64_t>(operation(open(), begin));
  });
}

/// Runs an operation at an offset that returns nothing.
template <class Open, class Operation>
std::int32_t done_at(const char* function, Open&& open, std::int64_t offset, Operation&& operation) {
  return guarded(function, [&]() -> std::int32_t {
    const std::uint64_t begin = natural(offset, "offset");
    operation(open(), begin);
    return 0;
  });
}

/// Runs an operation on the file as a whole.
template <class Open, class Operation>
std::int32_t done(const char* function, Open&& open, Operation&& operation) {
  return guarded(function, [&]() -> std::int32_t {
    operation(open());
    return 0;
  });
}

}  // namespace dovetail::c
