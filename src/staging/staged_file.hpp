// A file whose writes return at once. Its bytes go to the disk one write after the other, in the order of the calls. So a process
// that is killed leaves a file that plain writes could have left a little earlier. Reads see every write.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "base/claim.hpp"
#include "device/device.hpp"
#include "staging/reserved_space.hpp"
#include "staging/stage.hpp"
#include "staging/write_queue.hpp"

namespace dovetail::staging {

/// What a call says: 0, or an errno and where it happened.
struct Answer {
  int error = 0;
  std::uint64_t offset = 0;
};

/// An open file, as its opener knows it.
struct OpenedFile {
  std::string path;
  int descriptor = -1;
  bool writable = false;
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t size = 0;
};

/// How a caller wants its bytes written.
struct WriteRequest {
  Purpose purpose;
  std::shared_ptr<Transfers> transfers{};  ///< Which the write is one of; null: its end is not asked for.
  bool kept = false;                       ///< The memory stays as it is until the write has ended: it is not copied.
  bool awaited = false;                    ///< The caller waits for all of its writes before it returns.
  bool shared = false;  ///< In the child of a fork: the parent makes the same write, so the child only sees it.
};

/// One thread at a time calls its functions, save for those that say otherwise. None suspends the task that calls it: they block the thread.
class StagedFile : public Participant {
 public:
  /// Takes over the descriptor. The stage must outlive the file.
  StagedFile(Stage& stage, OpenedFile opened);
  /// As `close`.
  ~StagedFile() override;

  /// Waits for space in memory. Waits for the write itself only where the file system reserves no space for it, or where a copy gains nothing. The
  /// answer is then that of a plain write. Errors of earlier writes are kept for `failure`.
  Answer write(base::ByteRange range, const std::byte* data, const WriteRequest& how);
  /// Copies what is still to be written of the range, and appends what of it is to be read from the file to `gaps`. `quiet` is set if nothing is on its way
  /// to the file. An error: what should be in the file is not there.
  Answer read_pending(base::ByteRange range, std::byte* target, std::vector<base::ByteRange>& gaps, bool& quiet);
  /// From the file. Bytes behind its end are zero.
  Answer read(base::ByteRange range, std::byte* target) const;
  /// The same in the background, as one of `transfers`, into memory that is the caller's no more until then. False: it cannot be done.
  bool read_later(base::ByteRange range, std::byte* target, const Purpose& purpose,
                  const std::shared_ptr<Transfers>& transfers);

  /// Reserves space for a call that will write at most so much, until `forget_promise`. False: there is none.
  bool promise_space(std::size_t bytes);
  void forget_promise(std::size_t bytes) noexcept;
  /// Makes the file `size` bytes long, behind all writes. `later`: the close does it, or the next call that depends on it.
  Answer set_size(std::uint64_t size, std::uint64_t& waited, bool later);
  /// Size with all writes so far.
  std::uint64_t size() const noexcept { return size_; }

  /// Waits for all writes so far. The text of the first failure, or nothing. After a failure the file is as long as it should be. Adds
  /// to `waited` how long it took, in nanoseconds.
  std::string settle(std::uint64_t& waited);
  /// The text of the first failure so far, or nothing; does not wait. From any thread.
  std::string failure() const;
  /// A call that its caller took for done has failed: as if a write had.
  void fail(Purpose purpose, const std::string& reason);
  /// Waits for all writes so far and makes them durable. Returns the failure in words, or nothing.
  std::string make_durable(std::uint64_t& waited);
  /// Waits for all writes and closes the descriptor. The text of the first failure, or nothing. Nothing else may follow.
  std::string close(std::uint64_t& waited);
  /// Whether no write needs memory of the caller any more, and whether all writes so far will last.
  bool memory_reusable() const;
  bool durable() const;

  int descriptor() const noexcept { return opened_.descriptor; }
  dev_t device() const noexcept { return opened_.device; }
  ino_t inode() const noexcept { return opened_.inode; }
  bool writable() const noexcept { return opened_.writable; }
  const std::string& path() const noexcept { return opened_.path; }
  /// Another one is open on the same inode, or was.
  bool shared() const noexcept { return shared_.load(std::memory_order_relaxed); }
  /// It was opened by the parent of this process.
  bool foreign() const noexcept { return generation_ != stage_.generation(); }

  /// Whether nothing is on its way, as seen by this process.
  bool settled() const noexcept REQUIRES(stage_lock) { return foreign() || (queue_->empty() && reads_.empty()); }
  bool help() override REQUIRES(stage_lock);
  bool start() override REQUIRES(stage_lock);

 private:
  struct Read {
    base::ByteRange range;
    std::byte* target;
    Purpose purpose;
    std::shared_ptr<Transfers> transfers;
    base::Claim claim;
  };
  Answer write_as_child(base::ByteRange range, const std::byte* data, const WriteRequest& how);
  Answer write_behind(base::ByteRange range, const std::byte* data, const WriteRequest& how);
  const char* reason_to_write_at_once(base::ByteRange range, const WriteRequest& how) noexcept;
  bool take_space(std::size_t bytes);
  bool write_piece(base::ByteRange range, const std::byte* data, const WriteRequest& how, std::size_t space);
  Buffer take_buffer(std::size_t length);
  bool copies_gain_nothing() const noexcept;
  Answer write_in_place(base::ByteRange range, const std::byte* data, const char* reason);
  Answer write_unreserved(base::ByteRange range, const std::byte* data, const char* reason);
  Answer write_now(base::ByteRange range, const std::byte* data, const char* reason);
  void make_read(const std::shared_ptr<Read>& read);
  void wait_for_reads(base::ByteRange range) noexcept REQUIRES(stage_lock);
  void settle_others() noexcept REQUIRES(stage_lock);
  std::string settle(std::uint64_t Statistics::* counter);
  int cut() noexcept;

  Stage& stage_;
  OpenedFile opened_;
  device::Device& counted_;  // which is told of the bytes that the queue does not write
  const unsigned generation_;
  std::uint64_t size_;
  bool to_be_cut_ = false;            // to `size_`, by the close
  bool fast_ = false;                 // the file takes large writes as fast as copies are made
  std::uint64_t in_place_until_ = 0;  // when the program last wrote its own memory, in nanoseconds, and for how long
  std::uint64_t in_place_took_ = 0;
  std::size_t beginning_left_ = 0;              // bytes that the program may still write itself
  const std::shared_ptr<ReservedSpace> space_;  // null: the file system keeps none
  const std::shared_ptr<WriteQueue> queue_;
  std::list<std::shared_ptr<Read>> reads_ GUARDED_BY(stage_lock);  // on their way into the program's memory
  std::uint64_t changes_ GUARDED_BY(stage_lock) = 0;               // writes and cuts
  std::uint64_t durable_changes_ GUARDED_BY(stage_lock) = 0;       // as many of them last
  std::atomic<bool> shared_ = false;  // the constructor of another StagedFile on this inode sets it, from any thread
};

}  // namespace dovetail::staging
