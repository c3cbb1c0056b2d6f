/// @file
/// Loops and sums over ranges of integers, in parallel.
///
/// All of them are for use inside a task, whose core works on the range from the beginning. `Runtime::parallel_for` and
/// `Runtime::parallel_reduce` are the same for other threads. A range is halved until its pieces are small enough. Each piece is a task,
/// which may pause while others go on. Other cores take the far ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "dovetail/task.hpp"

namespace dovetail {
namespace detail {

/// The far half of a range, which another core may take. It has ended when this is gone.
template <class T>
class FarHalf {
 public:
  explicit FarHalf(Future<T> result) noexcept : result_(std::move(result)) {}
  FarHalf(const FarHalf&) = delete;
  FarHalf& operator=(const FarHalf&) = delete;
  ~FarHalf() {
    if (!result_.valid()) {
      return;
    }
    // It refers to what lies on this stack, so even a wait that was given up as stuck has to go on.
    while (!result_.ready()) {
      try {
        result_.wait();
      } catch (...) {  // NOLINT(bugprone-empty-catch)
      }
    }
    try {
      result_.get();
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The near half has failed, too, or this has been told already: the failure is on its way.
    }
  }
  T take() const { return result_.get(); }

 private:
  const Future<T> result_;
};

/// A range of indices, counted in `std::size_t` so that any range of any type of index has a length.
template <std::integral Index>
class Range {
 public:
  Range(Index first, Index last)
      : first_(first), length_(static_cast<std::size_t>(last) - static_cast<std::size_t>(first)) {}
  std::size_t length() const noexcept { return length_; }
  Index first() const noexcept { return first_; }
  Index last() const noexcept { return at(length_); }
  /// Takes so many off the beginning.
  Range take_first(std::size_t count) noexcept {
    const Range taken(first_, at(count));
    first_ = at(count);
    length_ -= count;
    return taken;
  }

 private:
  Index at(std::size_t place) const noexcept { return static_cast<Index>(static_cast<std::size_t>(first_) + place); }
  Index first_;
  std::size_t length_;
};

/// The result is that of `piece(range)` for pieces of a range that is not empty, in their order, combined by `combine`; or nothing.
template <class T, class Range, class Piece, class Combine>
T run_pieces(Range range, std::size_t chunk, const Piece& piece, const Combine& combine) {
  if (range.length() <= chunk) {
    return piece(range);
  }
  Range rest = range;
  const Range near = rest.take_first((range.length() / chunk + 1) / 2 * chunk);
  FarHalf<T> far(
      dovetail::spawn([rest, chunk, &piece, &combine] { return run_pieces<T>(rest, chunk, piece, combine); }));
  if constexpr (std::is_void_v<T>) {
    run_pieces<T>(near, chunk, piece, combine);
    far.take();
  } else {
    T sum = run_pieces<T>(near, chunk, piece, combine);
    return combine(std::move(sum), far.take());
  }
}

/// Indices of a piece: `wanted`, or if that is 0, so many that each worker gets about eight pieces.
inline std::size_t chunk_of(std::size_t length, std::size_t wanted, unsigned workers) noexcept {
  const std::size_t chunk = wanted != 0 ? wanted : length / (std::size_t{8} * workers);
  return chunk > 1 ? chunk : 1;
}

/// Workers of the runtime of the current task. @throws As those that call it.
unsigned workers_for(const char* function, bool last_fits);

}  // namespace detail

/// Calls `body(i)` for each `i` of `[first, last)`, or, if it takes two arguments, `body(begin, end)` for pieces of that range. Returns when
/// all calls have returned. Different threads call it, also at the same time; each works through its part in ascending order.
/// @param first The beginning of the range.
/// @param last Its end, one behind the last index. Not above `first`: nothing is called.
/// @param body It may pause. Must allow calls at the same time.
/// @param chunk Most indices of a piece. A piece should be a microsecond of work at least. 0: a fraction of the range for each core.
/// @throws What `body` throws, if that is in the calling task; else `TaskFailed` with the first failure by place. All other pieces are
///         worked through all the same, except those that `Runtime::cancel` drops. std::logic_error outside of a task; std::out_of_range if
///         `last` is no value of the type of `first`.
template <std::integral Index, std::integral Last, class Body>
void parallel_for(Index first, Last last, const Body& body, std::size_t chunk = 0) {
  const unsigned workers = detail::workers_for("parallel_for", std::in_range<Index>(last));
  if (std::cmp_greater_equal(first, last)) {
    return;
  }
  const detail::Range<Index> range(first, static_cast<Index>(last));
  const auto piece = [&body](const detail::Range<Index>& part) {
    if constexpr (std::is_invocable_v<const Body&, Index, Index>) {
      body(part.first(), part.last());
    } else {
      for (Index i = part.first(); i < part.last(); ++i) {
        body(i);
      }
    }
  };
  detail::run_pieces<void>(range, detail::chunk_of(range.length(), chunk, workers), piece, std::plus<>());
}

/// Combines `body(begin, end)` of all pieces of `[first, last)`, in their order, by `combine(left, right)`, which has to be associative.
/// The same range and chunk are always divided and combined in the same way, so rounding gives the same digits on any number of cores.
/// Without a chunk it does on the same number of workers.
/// @param first,last As for `parallel_for`.
/// @param body Gives the result of a piece. As for `parallel_for`.
/// @param combine Gives one result for two that lie side by side.
/// @param nothing The result for an empty range. It is combined with nothing else.
/// @param chunk As for `parallel_for`.
/// @throws As `parallel_for`.
template <std::integral Index, std::integral Last, class T, class Body, class Combine = std::plus<>>
T parallel_reduce(Index first, Last last, T nothing, const Body& body, const Combine& combine = {},
                  std::size_t chunk = 0) {
  const unsigned workers = detail::workers_for("parallel_reduce", std::in_range<Index>(last));
  if (std::cmp_greater_equal(first, last)) {
    return nothing;
  }
  const detail::Range<Index> range(first, static_cast<Index>(last));
  const auto piece = [&body](const detail::Range<Index>& part) -> T { return body(part.first(), part.last()); };
  return detail::run_pieces<T>(range, detail::chunk_of(range.length(), chunk, workers), piece, combine);
}

}  // namespace dovetail
