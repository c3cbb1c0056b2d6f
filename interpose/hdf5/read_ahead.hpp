// Fetches what a program that reads in steps will ask for next: between two bursts of reads it computes, and the bytes of the next
// step come meanwhile, as many as the last step had.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "background.hpp"
#include "buffer_pool.hpp"
#include "extent_index.hpp"

namespace dovetail::hdf5 {

/// When a file was changed last, as its file system says.
struct FileVersion {
  timespec modified{};
  timespec changed{};
  off_t size = 0;

  /// Of an open file; one that cannot be asked has none.
  static FileVersion of(int descriptor) noexcept;
  bool operator==(const FileVersion& other) const noexcept;
  /// Nanoseconds after which a change has a time of its own.
  std::uint64_t granularity() const noexcept;
};

/// Of one file. All functions want the lock of `Background`, save for those that say otherwise.
class ReadAhead {
 public:
  /// Nothing is fetched if `allowed` is false.
  ReadAhead(int descriptor, bool allowed) noexcept
      : descriptor_(descriptor), allowed_(allowed), version_(FileVersion::of(descriptor)), version_since_(now()) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() = default;

  /// Whether `serve` may have anything.
  bool empty() const noexcept { return blocks_.empty(); }
  /// Copies to `target` what has been fetched of the beginning of the range; waits for what is on its way. Nothing, if `version`, which
  /// is that of the file, is not that of what was fetched: somebody else has written. @returns bytes copied.
  std::size_t serve(Lock& lock, const FileVersion& version, Range range, std::byte* target);
  /// The program has read the range, of a file of `size` bytes, since the time `begun`. With the lock not held; may make tasks.
  void follow(Range range, std::uint64_t size, std::uint64_t begun);
  /// The file changes there.
  void forget(Range range) noexcept;
  /// Nothing more is fetched.
  void stop() noexcept;
  /// No task reads the file.
  bool idle() const noexcept { return fetching_ == 0; }

 private:
  // What comes next is behind the last one, or as far behind it as that was behind the one before.
  struct Stream {
    std::uint64_t last = 0;
    std::uint64_t end = 0;
    std::uint64_t stride = 0;
    std::size_t length = 0;
    unsigned hits = 0;
    std::uint64_t fetched_to = 0;
    std::uint64_t used = 0;      // when, in reads
    std::size_t burst = 0;       // bytes of this step so far
    std::size_t last_burst = 0;  // bytes of the one before
  };
  struct Block {
    Buffer buffer;
    std::size_t length = 0;
    std::size_t stream = 0;
    bool ready = false;
    bool failed = false;
    bool unwanted = false;
  };
  using Blocks = std::map<std::uint64_t, std::shared_ptr<Block>>;

  bool note_version(const FileVersion& version) noexcept;
  bool step_is_over(Range range, std::uint64_t begun);
  std::size_t find(Range range);
  void drop(Blocks::iterator block) noexcept;
  void drop_behind(std::size_t stream, std::uint64_t offset) noexcept;
  void plan(std::size_t stream, std::uint64_t size, std::vector<std::pair<std::size_t, Range>>& wanted) const;
  bool fetch(std::size_t stream, Range range);
  void fetch_now(std::uint64_t offset, const std::shared_ptr<Block>& block);

  const int descriptor_;
  bool allowed_;
  FileVersion version_;
  std::uint64_t version_since_;  // at the latest, in nanoseconds
  std::array<Stream, 16> streams_{};
  Blocks blocks_;
  std::size_t fetching_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t last_time_ = 0;
  std::size_t burst_ = 0;       // bytes of this step so far, over all streams
  std::size_t last_burst_ = 0;  // bytes of the one before
};

}  // namespace dovetail::hdf5
