// Brings parts of files into the page cache, a few requests at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "prefetch/ranges.hpp"
#include "prefetch/settings.hpp"

namespace dovetail::storage {
class OpenFile;
}

namespace dovetail::prefetching {

/// Ranges of one file, in ascending order.
struct Wanted {
  std::weak_ptr<storage::OpenFile> file;
  std::vector<Range> ranges;
};

/// Sorts what is wanted of a file, and fills gaps that cost less than a request. They have at most half of the window together.
void arrange(std::vector<Range>& ranges, const storage::OpenFile& file, const Settings& settings);

enum class InMemory : std::uint8_t {
  all,
  missing,  ///< Something is.
  unknown,  ///< The file is closed, or the kernel does not say, for example to a user who neither owns the file nor may write it.
};
/// Whether all of a range that is not empty is in memory, as far as the file goes. Waits for no device and no server: it takes less than a microsecond, and some microseconds
/// for each MiB.
InMemory in_memory(const std::weak_ptr<storage::OpenFile>& file, Range range);

/// Makes system calls that block, so it runs where that stalls nothing. One thread at a time uses it.
class Fetch {
 public:
  /// Fills in what comes next. False: there is nothing.
  using Next = std::function<bool(Wanted&)>;
  /// Whether to give up.
  using Stop = std::function<bool()>;

  /// Returns when everything that `next` gave is in the page cache, and it gives no more, or when it has to stop. True: a turn is over and
  /// there may be more, so that other work of the thread can come between. Errors end only what they are about.
  bool run(const Next& next, const Stop& stop);
  /// Bytes that were not in memory, of what `next` gave last. Final when `next` is called again.
  std::uint64_t asked() const noexcept { return asked_; }

 private:
  struct Piece {
    std::weak_ptr<storage::OpenFile> file;
    Range range;
  };
  bool has_room() const noexcept;
  bool next_piece(const Next& next, Piece& piece);
  void wait_for_first(const Stop& stop);
  bool bring(const Piece& piece, const Stop& stop);
  void forget() noexcept;

  Wanted wanted_;
  std::size_t next_range_ = 0;  // of the wanted
  std::uint64_t done_ = 0;      // of that range
  std::uint64_t advised_ = 0;   // bytes of one advice, for the file that is wanted
  bool program_reads_ = false;  // the device had requests of the program under way when it was asked last
  std::deque<Piece> under_way_;
  std::uint64_t bytes_ = 0;  // of these
  std::uint64_t asked_ = 0;
};

}  // namespace dovetail::prefetching
