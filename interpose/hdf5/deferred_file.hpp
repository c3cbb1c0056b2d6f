// A file whose writes return at once. Its bytes go to the disk one write after the other, in the order of the calls, so that a
// process killed at any instant leaves a file that plain writes could have left a little earlier. Reads see every write.
#pragma once

#include <hdf5.h>
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "background.hpp"
#include "read_ahead.hpp"
#include "room.hpp"
#include "write_queue.hpp"

namespace dovetail::hdf5 {

/// What a call of the file says: 0, or an errno and where it happened.
struct Answer {
  int error = 0;
  std::uint64_t offset = 0;
};

/// One thread at a time calls its functions (HDF5 holds a lock of its own), save for those that say otherwise.
class DeferredFile {
 public:
  /// Takes over `descriptor`, of which `size` is the size in bytes.
  DeferredFile(std::string path, int descriptor, bool writable, dev_t device, ino_t inode, std::uint64_t size);
  DeferredFile(const DeferredFile&) = delete;
  DeferredFile& operator=(const DeferredFile&) = delete;
  ~DeferredFile();

  /// Waits only for space in the buffer, and for the write itself where no room can be kept for it on the file system: what it says
  /// then is the native answer. Errors of earlier writes are kept for `failure`.
  Answer write(std::uint64_t offset, const std::byte* data, std::size_t length);
  /// Bytes behind the end of the file are zero. `raw`: data of the program, not HDF5's own.
  Answer read(std::uint64_t offset, std::byte* target, std::size_t length, bool raw);
  /// Keeps room for a call that will write at most so much, until `forget_promise`. False: there is none.
  bool promise_room(std::size_t bytes);
  void forget_promise(std::size_t bytes) noexcept;
  /// HDF5 may change what it has read, from pages of its own, when a read has returned: none may go on after that.
  void reads_end_at_once() noexcept { reads_may_go_on_ = false; }
  /// Another process writes the file: what is read must be what is there now.
  void never_reads_ahead() noexcept;
  /// Makes the file `size` bytes long.
  Answer set_size(std::uint64_t size);
  /// Size with all writes so far.
  std::uint64_t size();
  /// Waits for all writes so far. The text of the first failure, or nothing. After a failure the file is at least as long as HDF5 knows it.
  std::string settle(Cause cause);
  /// The text of the first failure so far, or nothing; does not wait.
  std::string failure() const;
  /// The number that HDF5 has given to the file; none, until the program has opened it by name.
  std::optional<unsigned long> number() const noexcept { return number_; }
  void number_is(unsigned long number) noexcept { number_ = number; }
  /// An object in which something is missing that its caller took for done.
  void lose(const H5O_token_t& token) { lost_.push_back(token); }
  bool has_lost(const H5O_token_t& token) const;
  bool writable() const noexcept { return writable_; }
  /// A call that its caller took for done has failed, and `reason` is what HDF5 says: as if a write had.
  void fail(const char* call, SharedName name, const std::string& reason);
  /// The program has closed an identifier of the file: it is perhaps closed by the close of its last object.
  void identifier_closes() noexcept { identifier_closed_ = true; }
  bool identifier_closed() const noexcept { return identifier_closed_; }
  /// Waits for all writes so far and makes them last. What failed, or nothing.
  std::string make_durable();
  /// Whether no write needs memory of the program any more, and whether all writes so far will last.
  bool memory_reusable() const;
  bool durable() const;

  /// Whether a flush returns when all writes have reached the file; false: at once.
  bool flush_waits() const noexcept { return flush_waits_; }
  void flush_waits(bool waits) noexcept { flush_waits_ = waits; }

  /// What `H5Fget_vfd_handle` gives.
  int* descriptor_address() noexcept { return &handle_.descriptor; }
  dev_t device() const noexcept { return device_; }
  ino_t inode() const noexcept { return inode_; }
  const std::string& path() const noexcept { return path_; }

  /// With the lock of `Background` held: whether nothing is on its way, as seen by this process.
  bool settled() const noexcept { return foreign() || (queue_->empty() && reads_.empty()); }
  /// With the lock held: somebody is about to wait.
  void hurry() noexcept {
    if (!foreign()) {
      queue_->hurry();
    }
  }

 private:
  void lengthen_to_size() noexcept;
  bool foreign() const noexcept { return generation_ != Background::instance().generation(); }
  Answer write_as_child(std::uint64_t offset, const std::byte* data, std::size_t length);
  Answer write_behind(std::uint64_t offset, const std::byte* data, std::size_t length);
  const char* reason_to_write_at_once(std::uint64_t end) noexcept;
  bool take_room(std::size_t bytes);
  bool write_piece(std::uint64_t offset, const std::byte* data, std::size_t length, bool promised, std::size_t room);
  bool copies_gain_nothing() const noexcept;
  Answer write_in_place(std::uint64_t offset, const std::byte* data, std::size_t length, Cause cause,
                        const char* reason);
  Answer write_without_room(std::uint64_t offset, const std::byte* data, std::size_t length, const char* reason);
  void keep_copy(std::uint64_t offset, const std::byte* data, std::size_t length);
  Buffer take_buffer(std::size_t length);
  Answer write_now(std::uint64_t offset, const std::byte* data, std::size_t length, const char* reason);
  Answer read_now(std::uint64_t offset, std::byte* target, std::size_t length);
  void settle_others(Lock& lock) noexcept;
  bool read_later(Range range, std::byte* target);
  void wait_for_reads(Lock& lock, Range range) noexcept;
  std::size_t take_fetched(Range range, std::byte* target);

  int descriptor() const noexcept { return handle_.descriptor; }

  // HDF5's POSIX driver has four bytes of zeros behind the descriptor, and there are programs that read all eight.
  struct alignas(std::uint64_t) Handle {
    int descriptor;
    int zero = 0;
  };

  const std::string path_;
  Handle handle_;
  const bool writable_;
  const dev_t device_;
  const ino_t inode_;
  const unsigned generation_;
  std::uint64_t size_;
  bool flush_waits_;
  bool identifier_closed_ = false;
  std::optional<unsigned long> number_;
  std::vector<H5O_token_t> lost_;
  bool fast_ = false;                 // the file takes large writes as fast as copies are made
  std::uint64_t in_place_until_ = 0;  // when the program last wrote its own memory, in nanoseconds, and for how long
  std::uint64_t in_place_took_ = 0;
  // From here on guarded by the lock of `Background`.
  const std::shared_ptr<Room> room_;  // null: the file system keeps none
  const std::shared_ptr<WriteQueue> queue_;
  std::list<Range> reads_;             // on their way into the program's memory
  std::uint64_t changes_ = 0;          // writes and cuts
  std::uint64_t durable_changes_ = 0;  // as many of them last
  bool reads_may_go_on_ = true;
  bool shared_ = false;  // another of these is open on the same inode, or was
  ReadAhead read_ahead_;
};

}  // namespace dovetail::hdf5
