// The rules of a configuration and the files that they are about, in memory that the programs of that configuration share
// (python/dovetail/advice_memory.py makes it). Read and written in programs that have nothing to do with Dovetail: no allocation, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prefetch/block_cache.hpp"
#include "prefetch/file_table.hpp"

namespace dovetail::prefetching {

/// Which advice a part of a file is read by, in the kernel's numbers of POSIX_FADV_*.
enum class AdviceKind : std::uint64_t { normal = 0, random = 1, sequential = 2, will_need = 3, dont_need = 4 };

/// A part of a file, as a rule has it.
struct AdvisedPart {
  Range range;
  AdviceKind kind;
};

/// Where a process has the file open, for an advisor outside of the program.
struct Holder {
  std::uint32_t process;
  std::int32_t descriptor;
};

/// One file under one rule. `python/dovetail/advice_memory.py` reads what is in front of the cache, and its counts.
struct alignas(4096) AdvisedFile : FileEntry {
  std::uint32_t rule;
  std::atomic<std::uint32_t> looked;      // not 0: it was asked whether all of the file is cached
  std::atomic<std::uint64_t> holder;      // a `Holder`: the one that has looked last, or has told the advisor
  std::atomic<std::uint32_t> counted_in;  // the period in which it was counted among the files that are read
  std::uint32_t reserved;
  BlockCache blocks;

  Holder held_by() const noexcept {
    const std::uint64_t both = holder.load(std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(both >> 32), static_cast<std::int32_t>(both)};
  }
};
static_assert(sizeof(AdvisedFile) == 8192);

/// How many files programs read at the time, in memory that they share: nothing has to be taken back by a program that is killed. All bytes zero is none.
class FilesBeingRead {
 public:
  /// In this period a file is read. `is_new`: for the first time. @returns how many are, of those of the latest period and of the one before the greater number; at least 1.
  std::uint32_t count(std::uint32_t period, bool is_new) noexcept;

 private:
  std::atomic<std::uint64_t> counted_;  // the latest period, and in 16 bits each the files of it and of the one before
};

class AdviceTable {
 public:
  static constexpr std::uint64_t magic = 0x3130454349564441;  // "ADVICE01"
  static constexpr std::uint32_t most_files = 1024;
  static constexpr std::uint32_t no_rule = UINT32_MAX;
  static constexpr std::uint64_t smallest_file = 128U << 10;  // one request brings in what is smaller, or as small

  /// The memory of a table, readable and writable, at the beginning of a page, as long as the table is used. An unusable one gives an empty table.
  static AdviceTable in(std::byte* memory, std::uint64_t bytes) noexcept;
  std::uint32_t files() const noexcept { return files_; }
  std::uint32_t rules() const noexcept { return all_rules_; }
  /// The first rule for this path in a program of one of these names; `no_rule`: there is none.
  std::uint32_t rule_for(std::string_view path, std::string_view program, std::string_view also_named) const noexcept;
  /// Whether there is a rule for this path in any program.
  bool concerns(std::string_view path) const noexcept;
  /// The part of a file that `offset` lies in, by a rule; its number is below `rules()`, here and in what follows. What no part has is one that is read as usual.
  AdvisedPart part(std::uint32_t rule, std::uint64_t offset) const noexcept;
  BlockCache::Sizes sizes(std::uint32_t rule, std::uint64_t file_bytes) const noexcept;
  /// The number of the file under a rule; it gets a place if it has none (`made`: now). `files()`: it is not on a device, or the table is full.
  std::uint32_t find(const FileIdentity& identity, std::uint32_t rule, bool& made) noexcept;
  /// What a read means by a rule.
  struct Noted {
    AdviceKind kind;            // of the part that it begins in
    Range inside;               // what this reader reads in there next means nothing new
    std::uint64_t block_bytes;  // 0: the part is not read by blocks, so that there is no advice for any
  };
  /// Notes a read of a file under its rule. `period`: numbers of periods of one length, by any one clock; files that come to another block in the same period, or in two that
  /// follow, share memory. `reader`, and the threads that may call it: as in `BlockCache::note`. `bytes` is not 0.
  Noted note(std::uint32_t rule, AdvisedFile& file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t reader,
             std::uint32_t period) const noexcept;
  /// From now on, the blocks of all files have so many bytes at most, of those that are read at the time. 0: any number.
  void limit(std::uint64_t bytes) noexcept { header_->window.store(bytes, std::memory_order_relaxed); }
  /// Of a number below `files()`.
  AdvisedFile& file(std::uint32_t number) const noexcept { return table_[number]; }

  /// Whether the report of a program that starts now wants to know how long reads take.
  bool timed() const noexcept { return header_ != nullptr && header_->timed.load(std::memory_order_relaxed) != 0; }
  /// Whether an advisor outside of the program gives the advice.
  bool is_served() const noexcept { return header_->served.load(std::memory_order_relaxed) != 0; }
  /// Tells that advisor that a file has work. `wake(word)`: has the system wake the thread that waits for a change of the word.
  template <class Wake>
  void tell(std::uint32_t number, const Wake& wake) noexcept {
    header_->has_work[number / 64].fetch_or(std::uint64_t{1} << number % 64, std::memory_order_relaxed);
    header_->told.fetch_add(1, std::memory_order_release);
    if (header_->waits.exchange(0, std::memory_order_acq_rel) != 0) {
      wake(header_->told);
    }
  }
  /// For the advisor: takes the files that have work, 64 at a time. @returns a bit for each, from number 64 * `word` on.
  std::uint64_t take_work(std::uint32_t word) noexcept {
    return header_->has_work[word].exchange(0, std::memory_order_acquire);
  }
  std::atomic<std::uint32_t>& told() noexcept { return header_->told; }
  /// The advisor calls it, then looks for work once more, and only then waits: `tell` wakes it only for work that comes after this call.
  void will_wait() noexcept { header_->waits.store(1, std::memory_order_seq_cst); }
  void serve(bool now) noexcept { header_->served.store(now ? 1 : 0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t most_rules = 1024;
  static constexpr std::uint64_t most_regions = 4096;
  static constexpr std::uint64_t most_text = 1U << 20;
  struct alignas(4096) Header {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::uint64_t files;
    std::uint64_t rules;
    std::uint64_t regions;
    std::uint64_t text;  // bytes
    std::atomic<std::uint64_t> timed;
    std::atomic<std::uint32_t> served;
    std::atomic<std::uint32_t> waits;  // the advisor sleeps, or is about to
    std::atomic<std::uint32_t> told;   // how often there was something to do
    std::uint32_t reserved;
    std::array<std::atomic<std::uint64_t>, most_files / 64> has_work;
    DeviceList devices;
    std::atomic<std::uint64_t> window;  // bytes of all blocks that are kept at most; 0: any number
    FilesBeingRead being_read;
  };
  static_assert(sizeof(Header) == 4096 && offsetof(Header, devices) == 200 && offsetof(Header, window) == 2256);
  struct Rule {  // python/dovetail/advice_configuration.py
    std::uint32_t pattern;
    std::uint32_t pattern_bytes;
    std::uint32_t process;
    std::uint32_t process_bytes;  // 0: any
    std::uint32_t first_region;
    std::uint32_t regions;
    std::uint32_t cache_blocks;
    std::uint32_t ahead_blocks;
    std::uint64_t block_bytes;
    std::uint64_t memory_bytes;  // of all files of rules with the same `shared`; 0: any number
    std::uint32_t shared;        // the number of the rule that counts the files of all of them
    std::uint32_t reserved;
    FilesBeingRead being_read;
  };
  struct Region {  // those of a rule in the order of the file; they do not overlap
    std::uint64_t offset;
    std::uint64_t end;
    std::uint64_t kind;
  };
  static_assert(sizeof(Rule) == 64 && sizeof(Region) == 24);

  /// What the file may have of what the rule, and all of them, may keep. Counts it among those that are read.
  std::uint64_t share_of(std::uint32_t rule, AdvisedFile& file, std::uint32_t period) const noexcept;
  std::string_view text(std::uint32_t from, std::uint32_t bytes) const noexcept;

  Header* header_ = nullptr;
  Rule* rules_ = nullptr;
  const Region* regions_ = nullptr;
  const char* text_ = nullptr;
  AdvisedFile* table_ = nullptr;
  std::uint32_t files_ = 0;
  std::uint32_t all_rules_ = 0;
  std::uint32_t all_regions_ = 0;
  std::uint32_t all_text_ = 0;
};

}  // namespace dovetail::prefetching
