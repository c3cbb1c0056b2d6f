// What is to be written to one file, in the order of the program's calls, and the task that writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "background.hpp"
#include "buffer_pool.hpp"
#include "dovetail/file.hpp"
#include "extent_index.hpp"
#include "operation.hpp"
#include "room.hpp"

namespace dovetail::hdf5 {

/// Small writes that follow others are gathered for a moment: waking a thread for each would cost more than it hides. The queue
/// lives as long as its task, which may look at it once more after the file has been closed.
/// All functions want the lock of `Background` held, save for those that say otherwise.
class WriteQueue : public std::enable_shared_from_this<WriteQueue> {
 public:
  /// `room`: where `Extent::room` was taken; null: nowhere.
  WriteQueue(std::string path, int descriptor, std::shared_ptr<Room> room);
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;
  ~WriteQueue() = default;

  /// Consecutive bytes.
  struct Extent {
    std::uint64_t offset = 0;
    std::size_t length = 0;
    const std::byte* data = nullptr;
    Buffer buffer;         // none: the caller's own memory
    std::size_t room = 0;  // taken for it
    const char* call = "";
    SharedName name;
    std::shared_ptr<Transfers> transfers;
  };

  /// Adds the bytes to the newest extent if they follow it, no task has taken it yet, its buffer has space and there is room for them.
  bool append(std::uint64_t offset, const std::byte* data, std::size_t length);
  /// Takes over the extent, unless it throws. With the lock not held; it may make a task.
  void push(std::unique_ptr<Extent>&& extent);
  /// Nothing is queued or being written.
  bool empty() const noexcept { return outstanding_ == 0; }
  /// Whoever calls this is about to wait for the queue.
  void hurry() noexcept;
  /// Whether memory of the program is still to be written.
  bool needs_memory() const noexcept { return promised_ != 0; }
  bool failed() const noexcept { return failure_.has_value(); }
  /// What failed first, in words; nothing if nothing did. What comes after it is written all the same, as natively.
  std::string failure() const;
  /// Something else than a write has failed: HDF5 says why.
  /// Appends to `tell` what is to be called without the lock.
  void fail(const char* call, SharedName name, const std::string& reason, std::vector<std::function<void()>>& tell);
  /// The program has written these bytes itself.
  void written(Range range) { lost_.remove(range.offset, range.length); }
  /// The errno of the failure if any of these bytes should have been written and were not; 0 if they are as they should be.
  int loss_in(Range range) const { return failure_ && lost_.overlaps(range) ? failure_->error : 0; }
  ExtentIndex& pending() noexcept { return pending_; }
  /// Whether large writes end so soon that memory which the kernel has yet to map costs more than waiting for one of them.
  bool fast() const noexcept;

 private:
  // Put into words when somebody asks: the object may have got its name by then.
  struct Failure {
    const char* call = "";
    SharedName name;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    int error = 0;
    std::string reason;  // empty: it was a write
  };
  using Batch = std::vector<std::unique_ptr<Extent>>;
  void note(Failure failure, std::vector<std::function<void()>>& tell);
  void start();
  void run();
  bool gather();
  bool write_next();
  Batch take();
  std::optional<Failure> attempt(std::span<const std::unique_ptr<Extent>> neighbours) const;
  std::optional<Failure> transfer(std::span<const std::unique_ptr<Extent>> neighbours) const;
  std::vector<std::optional<Failure>> write(const Batch& batch) const;
  void ended(Batch& batch, std::vector<std::optional<Failure>>& failures, std::uint64_t begin,
             std::vector<std::function<void()>>& tell);

  const std::string path_;
  File file_;
  const std::shared_ptr<Room> room_;
  ExtentIndex pending_;
  std::deque<std::unique_ptr<Extent>> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t outstanding_ = 0;  // extents, waiting or being written
  std::size_t promised_ = 0;     // of them, those without a buffer
  bool running_ = false;         // a task will look at the queue
  bool hurried_ = false;
  double bytes_per_second_ = 0;  // of large writes, lately; 0: not known
  std::optional<Failure> failure_;
  RangeSet lost_;
};

}  // namespace dovetail::hdf5
