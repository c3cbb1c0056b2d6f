// What is to be written to one file, in the order of the program's calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "dovetail/file.hpp"
#include "staging/buffer_pool.hpp"
#include "staging/extent_index.hpp"
#include "staging/purpose.hpp"
#include "staging/reserved_space.hpp"
#include "staging/stage.hpp"
#include "staging/transfers.hpp"

namespace dovetail::staging {

/// One thread at a time writes: a task, or one that would have to wait for it. Small writes that follow others are gathered for a moment,
/// since waking a thread for each would cost more than it hides. The queue lives as long as its task, which may look at it once
/// more after the file has been closed.
class WriteQueue : public std::enable_shared_from_this<WriteQueue> {
 public:
  /// `space`: where `Extent::space` was taken; null: nowhere. The stage must outlive the queue.
  WriteQueue(Stage& stage, std::string path, int descriptor, std::shared_ptr<ReservedSpace> space);
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;
  ~WriteQueue() = default;

  /// Consecutive bytes.
  struct Extent {
    base::ByteRange range;
    const std::byte* data = nullptr;
    Buffer buffer;          // none: the caller's own memory
    std::size_t space = 0;  // taken for it
    Purpose purpose;
    std::shared_ptr<Transfers> transfers;
  };

  /// Adds the bytes to the newest extent that no thread has taken yet. They must follow it and fit into its buffer, and their space must
  /// be free. Returns whether it did.
  bool append(base::ByteRange range, const std::byte* data) REQUIRES(stage_lock);
  /// Takes over the extent, unless it throws. It may make a task.
  void push(std::unique_ptr<Extent>&& extent) EXCLUDES(stage_lock);
  /// Nothing is queued or being written.
  bool empty() const noexcept REQUIRES(stage_lock) { return outstanding_ == 0; }
  /// Writes some of what is queued. False: there is nothing that no other thread writes.
  bool help() REQUIRES(stage_lock);
  /// Makes a task if something is queued that no thread writes. Whether it has.
  bool start() REQUIRES(stage_lock);
  /// Whether memory of the caller is still to be written.
  bool needs_memory() const noexcept REQUIRES(stage_lock) { return kept_ != 0; }
  /// The first failure in words; nothing if there was none. Later writes are made all the same, as by plain writes.
  std::string failure() const REQUIRES(stage_lock);
  /// Something else than a write has failed, for this reason. Lets go of the lock while the failure is printed.
  void fail(Purpose purpose, const std::string& reason) REQUIRES(stage_lock);
  /// The program has written these bytes itself.
  void written(base::ByteRange range) REQUIRES(stage_lock) { lost_.remove(range.offset, range.length); }
  /// The errno of the failure if any of these bytes should have been written and were not; 0 if they are as they should be.
  int loss_in(base::ByteRange range) const REQUIRES(stage_lock) {
    return failure_ && lost_.overlaps(range) ? failure_->error : 0;
  }
  ExtentIndex& pending() noexcept REQUIRES(stage_lock) { return pending_; }
  /// Whether large writes end so soon that memory which the kernel has yet to map costs more than waiting for one of them.
  bool fast() const noexcept REQUIRES(stage_lock);

 private:
  // Put into words when it is asked for: the object may have got its name by then.
  struct Failure {
    Purpose purpose;
    base::ByteRange range;
    int error = 0;
    std::string reason;  // empty: it was a write
  };
  using Extents = std::span<const std::unique_ptr<Extent>>;
  using Batch = std::vector<std::unique_ptr<Extent>>;
  using Failures = std::vector<std::optional<Failure>>;

  void note(Failure failure) REQUIRES(stage_lock);  // lets go of the lock meanwhile
  void make_task() EXCLUDES(stage_lock);
  void run() EXCLUDES(stage_lock);
  Batch take() REQUIRES(stage_lock);
  void write_some() REQUIRES(stage_lock);
  std::optional<Failure> attempt(Extents neighbours) const EXCLUDES(stage_lock);
  std::optional<Failure> transfer(Extents neighbours) const EXCLUDES(stage_lock);
  Failures write(const Batch& batch) const EXCLUDES(stage_lock);
  void ended(Batch& batch, const Failures& failures, std::uint64_t begin, Calls& tell) REQUIRES(stage_lock);

  Stage& stage_;
  const std::string path_;
  File file_;
  const std::shared_ptr<ReservedSpace> space_;
  ExtentIndex pending_ GUARDED_BY(stage_lock);
  std::deque<std::unique_ptr<Extent>> waiting_ GUARDED_BY(stage_lock);
  std::size_t waiting_bytes_ GUARDED_BY(stage_lock) = 0;
  std::size_t outstanding_ GUARDED_BY(stage_lock) = 0;  // extents, waiting or being written
  std::size_t kept_ GUARDED_BY(stage_lock) = 0;         // of them, those without a buffer
  bool started_ GUARDED_BY(stage_lock) = false;         // a task will look at the queue
  bool writing_ GUARDED_BY(stage_lock) = false;         // a thread writes
  double bytes_per_second_ GUARDED_BY(stage_lock) = 0;  // of large writes, lately; 0: not known
  std::optional<Failure> failure_ GUARDED_BY(stage_lock);
  RangeSet lost_ GUARDED_BY(stage_lock);
};

}  // namespace dovetail::staging
