/// @file
/// Files whose operations know about tasks. A plain operation suspends the calling task until it has ended, and returns its
/// result. Reads, writes and syncs have a second form, with an `i` in front: it binds the operation to the calling task and returns at once.
/// The task then completes no earlier than the operation, so it must not use the result itself.
/// Outside of a task, and in I/O tasks, both forms block the calling thread.
///
/// One `File` may be used by any number of tasks and threads at once. Two operations whose ranges overlap are ordered only
/// by the accesses that their tasks declare; without those, their order is not defined.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dovetail/access.hpp"
#include "dovetail/urgency.hpp"

namespace dovetail {

/// Whether a file bypasses the page cache (`O_DIRECT`).
enum class Direct : std::uint8_t {
  never,      ///< Through the page cache, unless the flags given to `open` say `O_DIRECT`.
  automatic,  ///< Bypassed where the file system can; heads and tails that are not aligned are handled, not refused.
  always,     ///< Bypassed, or `open` fails; unaligned heads and tails are handled too.
  adaptive,   ///< Bypassed by those transfers to which it pays: from 256 KiB, of what is not read again and again, on a
              ///< disk. Both ways see the same bytes. See docs/design/storage.md, "Direct or not".
};

/// How a file is opened, besides the POSIX flags.
struct FileOptions {
  Direct direct = Direct::never;  ///< See `Direct`.
  unsigned mode = 0644;           ///< Permissions of a file that is created.
  /// Which requests go first among those that the runtime keeps back because the device has as many as it should have at once. It orders
  /// only requests of one kind: reads, writes, or what transfers nothing; through the page cache or past it; up to 32 KiB or longer. So a
  /// read is never kept back behind writes. It does nothing for bytes that the page cache takes or gives at once, and for streams. Nor for
  /// calls in I/O tasks and outside of tasks: those are plain system calls, which wait in no queue of the runtime.
  Urgency urgency = Urgency::program;
  /// Writes go to a log on a fast local tier, and from there in the background into the file (docs/staging.md). For regular files, through the
  /// page cache.
  ///
  /// A write that has returned survives the end of the process, also by `kill -9`. What an `i` form wrote is durable on the tier when its task
  /// has completed; so is all that `fsync`, `fdatasync` and `pwrite_durable` cover. `drain` makes it durable in the file itself.
  /// The next opening with `staged`, or `dovetail staging recover`, finds all that survived. Errors of a drain in the background are thrown by the
  /// next `fsync` or `fdatasync`; the bytes are still on the tier then, and `drain` and `close` try again.
  /// Each staged `File` of this process reads what any of them wrote. Other processes see it after `drain` or `close`. Until then no other process
  /// may change the file, none can open it with `staged` (EBUSY), and `descriptor` leads to what has been drained.
  bool staged = false;
  /// Folder of the tier; it exists. Empty: `DOVETAIL_TIER`.
  std::string tier{};
};

namespace storage {
class OpenFile;
}

namespace detail {
template <class R>
concept ReadableInto = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
                       !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <class R>
concept WritableFrom = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;
template <class R>
std::span<std::byte> bytes_into(R&& data) noexcept {
  return std::as_writable_bytes(std::span(std::ranges::data(data), std::ranges::size(data)));
}
template <class R>
std::span<const std::byte> bytes_from(R&& data) noexcept {
  return std::as_bytes(std::span(std::ranges::data(data), std::ranges::size(data)));
}
}  // namespace detail

/// An open file. Copies stand for the same open file; the last one closes it. Errors of that close are printed to standard error; `close`
/// throws them. A default-constructed `File` is not open.
///
/// Unless said otherwise, every operation may suspend and throws `IoError` with path, offset and errno. An `i` form suspends only while the
/// buffers for it are exhausted. In a task it fails that task instead, with the same error as the cause. Short transfers are continued,
/// `EINTR` and `EAGAIN` are retried.
///
/// A write that fails has written what is before the offset of its `IoError`, and leaves the file no longer than that makes it. Bytes
/// behind that offset may be new or old where the file had them already and is direct; else they are as they were.
///
/// **Streams.** A pipe, FIFO, socket or terminal has no offsets: those that are given are ignored, each read takes the next bytes, each
/// write appends. All else holds. A read waits until it has everything or the other side has closed, a write until all is taken.
/// `O_NONBLOCK` changes neither. With io_uring any number of tasks may wait; without it each occupies an I/O executor
/// (`Options::io_executors`). Datagrams and the packets of a pipe keep their bounds. One that is longer than what is left of the buffer is
/// cut, as by `read(2)`. Two reads (or writes) of one stream at once share it in an order, and in pieces, that are not defined. A write to
/// a stream without a reader fails with `EPIPE` if the program ignores `SIGPIPE`, as `write(2)`. `size` and what needs an offset
/// (`truncate`, `fallocate`) say what the system says.
class File {
 public:
  File() noexcept = default;
  /// Opens `path` with flags as `open(2)`. `O_CLOEXEC` is added. A FIFO waits for its other end, and occupies a thread meanwhile. With
  /// io_uring this is a thread of the kernel, of which a worker has as many as four times the processors; else it is an I/O executor. Tasks
  /// that open more FIFOs than that before the first other end is opened wait for ever.
  /// @throws IoError with the errno of `open(2)`; EINVAL for a path with a zero byte, of which the system would see a part.
  static File open(const std::string& path, int flags, const FileOptions& options = {});
  /// Uses a descriptor that the caller opened; it is closed by `close` and the last copy only if `owned`. It may be a stream (see
  /// above).
  /// @throws IoError EBADF where it is not open, EINVAL for `O_DIRECT` together with `O_APPEND`.
  static File from_descriptor(int descriptor, bool owned = false);

  /// Whether there is an open file that has not been closed.
  bool is_open() const noexcept;
  /// The descriptor, valid while the file is open; -1 if it is not.
  int descriptor() const noexcept;
  /// The path given to `open`, or "descriptor N".
  const std::string& path() const noexcept;
  /// Number of this file as a space of regions: the same for every `File` and path that lead to the same inode.
  /// @throws IoError (EBADF) if there never was an open file: its regions would be taken for memory.
  std::uint64_t space() const;
  /// Whether transfers bypass the page cache (`Direct::adaptive`: whether some may).
  bool direct() const noexcept;
  /// Size in bytes, with what has been written so far. Does not suspend.
  std::uint64_t size() const;

  /// Reads into `data` from `offset` in bytes. @returns bytes read: fewer than asked only at the end of the file, 0 there.
  template <detail::ReadableInto R>
  std::size_t pread(R&& data, std::uint64_t offset) const {
    return read_bytes(detail::bytes_into(data), offset);
  }
  /// Bound form of `pread`. `data` must stay valid until the task has completed. If `transferred` is given it receives the
  /// bytes read, before the task completes.
  template <detail::ReadableInto R>
  void ipread(R&& data, std::uint64_t offset, std::size_t* transferred = nullptr) const {
    bind_read(detail::bytes_into(data), offset, transferred);
  }
  /// Writes `data` at `offset` in bytes. @returns bytes written: all of them.
  template <detail::WritableFrom R>
  std::size_t pwrite(R&& data, std::uint64_t offset) const {
    return write_bytes(detail::bytes_from(data), offset);
  }
  /// Bound form of `pwrite`. `data` must stay valid and unchanged until the task has completed. `transferred` as in `ipread`.
  template <detail::WritableFrom R>
  void ipwrite(R&& data, std::uint64_t offset, std::size_t* transferred = nullptr) const {
    bind_write(detail::bytes_from(data), offset, transferred);
  }
  /// Writes `data` at `offset` in bytes and makes it durable, as `pwrite` and `fdatasync` would. Where the kernel can link the two, they
  /// are one submission. @returns bytes written: all of them. An `IoError` names the half that failed: "pwrite", or "fdatasync" (then
  /// everything was written, and nothing is certain to last).
  template <detail::WritableFrom R>
  std::size_t pwrite_durable(R&& data, std::uint64_t offset) const {
    return write_durably(detail::bytes_from(data), offset);
  }
  /// Reads into several buffers, in order, as `preadv(2)`, from `offset` in bytes. Any number of buffers. @returns bytes read, as
  /// `pread`.
  std::size_t preadv(std::span<const iovec> buffers, std::uint64_t offset) const;
  /// Bound form of `preadv`; the list of buffers is copied, the buffers are not: they must stay valid until the task has completed.
  void ipreadv(std::span<const iovec> buffers, std::uint64_t offset, std::size_t* transferred = nullptr) const;
  /// Writes several buffers, in order, as `pwritev(2)`, at `offset` in bytes. Any number of buffers. @returns bytes written: all of
  /// them.
  std::size_t pwritev(std::span<const iovec> buffers, std::uint64_t offset) const;
  /// Bound form of `pwritev`; the list of buffers is copied, the buffers are not: they must stay valid and unchanged until the task
  /// has completed.
  void ipwritev(std::span<const iovec> buffers, std::uint64_t offset, std::size_t* transferred = nullptr) const;

  void fsync() const;       ///< Makes data and metadata durable.
  void ifsync() const;      ///< Bound form of `fsync`: covers writes that had ended before the call.
  void fdatasync() const;   ///< Makes data durable, and the metadata needed to read it.
  void ifdatasync() const;  ///< Bound form of `fdatasync`: covers writes that had ended before the call.
  /// Reserves `length` bytes from `offset` as `fallocate(2)`; `mode` is that call's.
  void fallocate(std::uint64_t offset, std::uint64_t length, int mode = 0) const;
  /// Cuts or extends the file to `size` bytes. Blocks; does not suspend. Not ordered with operations in flight.
  void truncate(std::uint64_t size) const;
  /// Makes all that was written before the call durable in the file itself, where others see it. Of a file that is not staged, as `fsync`.
  void drain() const;
  void idrain() const;  ///< Bound form of `drain`.
  /// Closes the file for all copies after the operations in flight have ended. Later operations fail with `EBADF`. A staged file is drained
  /// before, and its log removed; a failure leaves the log on the tier.
  void close();

 private:
  explicit File(std::shared_ptr<storage::OpenFile> file) noexcept : file_(std::move(file)) {}
  std::size_t read_bytes(std::span<std::byte> data, std::uint64_t offset) const;
  void bind_read(std::span<std::byte> data, std::uint64_t offset, std::size_t* transferred) const;
  std::size_t write_bytes(std::span<const std::byte> data, std::uint64_t offset) const;
  void bind_write(std::span<const std::byte> data, std::uint64_t offset, std::size_t* transferred) const;
  std::size_t write_durably(std::span<const std::byte> data, std::uint64_t offset) const;
  std::shared_ptr<storage::OpenFile> file_;
};

/// Reads the file at `path` from its beginning to its end, and closes it. The calling task pauses where that takes time. For many small files in a
/// folder of this machine's disks this is about 1.5 times as fast as a `File` for each, since the file need not be known any longer. A FIFO is read
/// until its writers have closed it. Any thread. What is written meanwhile may be read in part.
/// @throws IoError as `File::open` and `File::pread`.
std::vector<std::byte> read_file(const std::string& path);

/// @name File regions as accesses
/// Bytes `[offset, offset + length)` of a file, ordered by the same rules as memory.
/// @{
inline Access in(const File& file, std::uint64_t offset, std::uint64_t length) {
  return {{file.space(), offset, length}, AccessMode::in};
}
inline Access out(const File& file, std::uint64_t offset, std::uint64_t length) {
  return {{file.space(), offset, length}, AccessMode::out};
}
inline Access inout(const File& file, std::uint64_t offset, std::uint64_t length) {
  return {{file.space(), offset, length}, AccessMode::inout};
}
inline Access commutative(const File& file, std::uint64_t offset, std::uint64_t length) {
  return {{file.space(), offset, length}, AccessMode::commutative};
}
/// @}

/// @name Raw descriptors
/// As the members of `File`, on a descriptor that the caller owns and keeps open. After `using namespace dovetail` a plain `fsync(fd)` or
/// `fdatasync(fd)` is that of POSIX; `dovetail::fsync(fd)` is this one.
/// @{
template <detail::ReadableInto R>
std::size_t pread(int descriptor, R&& data, std::uint64_t offset) {
  return File::from_descriptor(descriptor).pread(data, offset);
}
template <detail::ReadableInto R>
void ipread(int descriptor, R&& data, std::uint64_t offset, std::size_t* transferred = nullptr) {
  File::from_descriptor(descriptor).ipread(data, offset, transferred);
}
template <detail::WritableFrom R>
std::size_t pwrite(int descriptor, R&& data, std::uint64_t offset) {
  return File::from_descriptor(descriptor).pwrite(data, offset);
}
template <detail::WritableFrom R>
void ipwrite(int descriptor, R&& data, std::uint64_t offset, std::size_t* transferred = nullptr) {
  File::from_descriptor(descriptor).ipwrite(data, offset, transferred);
}
// Templates, since POSIX has functions of the same names and parameters, which are preferred to them.
template <std::same_as<int> Descriptor>
void fsync(Descriptor descriptor) {
  File::from_descriptor(descriptor).fsync();
}
template <std::same_as<int> Descriptor>
void fdatasync(Descriptor descriptor) {
  File::from_descriptor(descriptor).fdatasync();
}
/// @}

}  // namespace dovetail
