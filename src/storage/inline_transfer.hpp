// Transfers through the page cache that the calling core does at once, because to hand them over would cost more than to do them.
#pragma once

#include <cstdint>
#include <limits>

#include "storage/operation.hpp"

namespace dovetail::storage {

class StorageService;

/// What `transfer_at_once` found out: the bytes of one system call, a negative errno, or that there was none.
using FirstResult = std::int64_t;
inline constexpr FirstResult not_tried = std::numeric_limits<FirstResult>::min();

/// The first system call of a plain read or write, if it is worth it to try the page cache at once. Mostly it moves all bytes, and then
/// no request need be set up. The rest is for `try_inline`.
FirstResult transfer_at_once(OpenFile& file, const Operation& operation, const StorageService& service) noexcept;

/// Performs the request at once if that takes next to no time. Such a request is a copy out of the page cache or into it, or is for a
/// file system in memory. Goes on from the first result if there is one. Returns whether it has ended.
bool try_inline(Request& request, OpenFile& file, const StorageService& service,
                FirstResult first = not_tried) noexcept;

}  // namespace dovetail::storage
