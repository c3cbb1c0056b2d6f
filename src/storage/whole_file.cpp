// A file is read whole with as few system calls as a plain program needs: open, fstat, read, close.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "device/device.hpp"
#include "dovetail/failure.hpp"
#include "dovetail/file.hpp"
#include "dovetail/this_task.hpp"
#include "storage/known_folders.hpp"
#include "storage/open_at_once.hpp"
#include "storage/open_close.hpp"
#include "storage/open_file.hpp"
#include "storage/operation.hpp"
#include "storage/perform.hpp"
#include "storage/uninterposed.hpp"
#include "storage/whole_file.hpp"
#include "storage/whole_path.hpp"
#include "tasking/moved_bytes.hpp"

namespace dovetail {
namespace storage {
namespace {

// The bytes that have been read, and room for more.
class Bytes {
 public:
  explicit Bytes(GrowingBytes& memory) noexcept : memory_(memory) {}
  void make_room(std::size_t bytes) {
    if (bytes > size_) {
      data_ = memory_.grow(bytes);
      size_ = bytes;
    }
  }
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  GrowingBytes& memory_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// How the file of a path may be opened and read by the calling core.
struct Way {
  bool pauses;       // The core has other tasks, and must not wait.
  bool in_memory;    // Reading it waits for nothing.
  dev_t number = 0;  // Where it should lie. 0: anywhere.
};

// Where `can_pause`. A task may go on with another worker after a pause: it must not keep the address.
KnownFolders& known_folders() noexcept {
  const StorageService::Here here = StorageService::here();
  return here.service->known_folders(here.worker);
}

std::size_t read_some(OpenFile& file, Bytes& data, std::size_t from) {
  Operation operation;
  operation.kind = Kind::read;
  operation.data = data.data() + from;
  operation.length = data.size() - from;
  operation.offset = from;
  const Outcome outcome = perform(file, operation);
  if (outcome.error != 0) {
    throw IoError(outcome.error, "read the whole file", file.path(), outcome.offset, outcome.left);
  }
  return outcome.bytes;
}

// Goes on behind the first `have` bytes, and returns how many there are. A read that brings fewer bytes than asked for has come to the end.
// Some files of /proc give something at offset 0 alone, and nothing is known of their size: the first read is a long one.
std::size_t read_to_end(OpenFile& file, std::size_t expected, Bytes& data, std::size_t have) {
  constexpr std::size_t least = 4096;
  for (std::size_t room = expected > 0 ? expected + 1 : least;; room = std::max(least, 2 * have)) {
    data.make_room(room);
    have += read_some(file, data, have);
    if (have < data.size()) {
      return have;
    }
  }
}

void close_checked(OpenFile& file) {
  if (const int error = close_file(file); error != 0) {
    throw IoError(error, "close", file.path(), 0, 0);
  }
}

// How the calling thread reads a file that others have not been found beside, or nothing: it is to be looked at first.
std::optional<Way> find_way(const std::string& path) {
  if (!can_pause()) {
    return Way{.pauses = false, .in_memory = false};
  }
  const StorageService::Here here = StorageService::here();
  if (const std::optional<KnownFolders::Device> device = here.service->known_folders(here.worker).find(path);
      device && !here.service->engine_is_given()) {
    return Way{.pauses = true, .in_memory = device->in_memory, .number = device->number};
  }
  return std::nullopt;
}

base::Descriptor open_by(const Way& way, const char* path) {
  const Uninterposed own;
  // A FIFO is opened without its other end; a link may lead to another device.
  return base::Descriptor(way.pauses ? open_cached(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                                     : ::open(path, O_RDONLY | O_CLOEXEC));
}

// Returns how many bytes came in one call, 0 after an error.
std::size_t read_by(const Way& way, int descriptor, Bytes& data) noexcept {
  const Uninterposed own;
  const iovec whole{data.data(), data.size()};
  const ssize_t result = ::preadv2(descriptor, &whole, 1, 0, way.pauses && !way.in_memory ? RWF_NOWAIT : 0);
  return static_cast<std::size_t>(std::max<ssize_t>(result, 0));
}

// Whatever was opened, read by operations that pause.
std::size_t read_opened(base::Descriptor descriptor, const std::string& path, const struct stat& status, Bytes& data,
                        std::size_t have) {
  const int number = descriptor.release();
  const std::shared_ptr<OpenFile> file =
      OpenFile::make(path, number, -1, O_RDONLY | O_CLOEXEC, false, Urgency::program, status);
  if (S_ISFIFO(status.st_mode) && can_pause()) {
    this_task::wait_readable(number);  // its end would be read if the other end has not been opened yet
  }
  have = read_to_end(*file, S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0, data, have);
  close_checked(*file);
  return have;
}

std::size_t read_by(const Way& way, base::Descriptor descriptor, const std::string& path, Bytes& data) {
  struct stat status{};
  if (fstat(descriptor.get(), &status) != 0) {
    fail_to_open(errno, path);
  }
  const bool is_as_known = S_ISREG(status.st_mode) && (way.number == 0 || status.st_dev == way.number);
  if (!is_as_known && way.pauses) {
    known_folders().forget(path);
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::size_t have = 0;
  if (is_as_known && size > 0 && size <= most_inline) {
    data.make_room(size);
    have = read_by(way, descriptor.get(), data);
    if (have == size) {
      tasking::count_moved(have);
      return have;
    }
  }
  return read_opened(std::move(descriptor), path, status, data, have);
}

// The next file of this folder need not be looked at.
void note_folder(const std::string& path, const struct stat& status, int descriptor) {
  const device::Device& device = device::device_of(status.st_dev, descriptor);
  if (device.caches_writes || device.in_memory) {
    known_folders().note(path, {.number = status.st_dev, .in_memory = device.in_memory});
  }
}

}  // namespace

std::size_t read_whole(const std::string& path, GrowingBytes& bytes) {
  require_whole_path(path, "open");
  Bytes data(bytes);
  if (const std::optional<Way> way = find_way(path)) {
    base::Descriptor descriptor = open_by(*way, path.c_str());
    if (descriptor.get() >= 0) {
      return read_by(*way, std::move(descriptor), path, data);
    }
    if (!way->pauses && errno != EINTR) {
      fail_to_open(errno, path);
    }
  }
  const std::shared_ptr<OpenFile> file = open_file(path, O_RDONLY, {});
  struct stat status{};
  const bool regular = fstat(file->descriptor(), &status) == 0 && S_ISREG(status.st_mode);
  const std::size_t have = read_to_end(*file, regular ? static_cast<std::size_t>(status.st_size) : 0, data, 0);
  if (regular && can_pause()) {
    note_folder(path, status, file->descriptor());
  }
  close_checked(*file);
  return have;
}

}  // namespace storage

std::vector<std::byte> read_file(const std::string& path) {
  class Vector final : public storage::GrowingBytes {
   public:
    std::byte* grow(std::size_t bytes) override {
      data_.resize(bytes);
      return data_.data();
    }
    std::vector<std::byte> cut_to(std::size_t bytes) && {
      if (bytes == 0) {
        return {};
      }
      data_.resize(bytes);
      return std::move(data_);
    }

   private:
    std::vector<std::byte> data_;
  };
  Vector data;
  const std::size_t bytes = storage::read_whole(path, data);
  return std::move(data).cut_to(bytes);
}

}  // namespace dovetail
