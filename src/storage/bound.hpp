// Operations bound to a task, and what they share with those that pause one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "storage/operation.hpp"
#include "storage/pieces.hpp"
#include "storage/request.hpp"
#include "storage/storage_service.hpp"

namespace dovetail::storage {

/// Starts a request that `set_up` has filled in, through aligned memory if it needs that. On a compute worker.
void start_piece(Request& request, bool needs_bounce, const StorageService::Here& here) noexcept;
/// Gives back what `start_piece` took. To be called when the request has ended; starts a request that was waiting for it.
void return_bounce(Request& request) noexcept;

/// What `read_at_once` found out: the bytes of one system call, a negative errno, or that there was none.
using FirstResult = std::int64_t;
inline constexpr FirstResult not_tried = std::numeric_limits<FirstResult>::min();

/// The first system call of a plain read or write, if it is worth it to try the page cache at once. Mostly it moves the whole, and then
/// a request need not be set up. What it does not move is for `try_inline`.
FirstResult transfer_at_once(OpenFile& file, const Operation& operation, const StorageService& service) noexcept;

/// Performs the request at once if that takes next to nothing: a copy out of the page cache or into it, or on a file system that lies
/// in memory. Goes on from the first result if there is one. Returns whether it has ended.
bool try_inline(Request& request, OpenFile& file, const StorageService& service,
                FirstResult first = not_tried) noexcept;

/// Starts the operation on a compute worker; its end fulfills the event of `task`. Owns everything it needs until then; the file
/// was counted in by the caller.
void start_bound(OpenFile& file, const Operation& operation, const Pieces& pieces, std::size_t* transferred,
                 detail::Task* task, const StorageService::Here& here);

/// The failure of an operation as the program sees it.
std::exception_ptr failure_of(const OpenFile& file, const Outcome& outcome) noexcept;

}  // namespace dovetail::storage
