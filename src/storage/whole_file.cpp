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
#include "storage/whole_path.hpp"
#include "tasking/moved_bytes.hpp"

namespace dovetail {
namespace {

using storage::KnownFolders;
using storage::OpenFile;

using Bytes = std::vector<std::byte>;

// How the file of a path may be opened and read by the calling core.
struct Way {
  bool pauses;       // The core has other tasks, and must not wait.
  bool in_memory;    // Reading it waits for nothing.
  dev_t number = 0;  // Where it should lie. 0: anywhere.
};

// Where `can_pause`. A task may go on with another worker after a pause: it must not keep the address.
KnownFolders& known_folders() noexcept {
  const storage::StorageService::Here here = storage::StorageService::here();
  return here.service->known_folders(here.worker);
}

std::size_t read_some(OpenFile& file, Bytes& data, std::size_t from) {
  storage::Operation operation;
  operation.kind = storage::Kind::read;
  operation.data = data.data() + from;
  operation.length = data.size() - from;
  operation.offset = from;
  const storage::Outcome outcome = storage::perform(file, operation);
  if (outcome.error != 0) {
    throw IoError(outcome.error, "read the whole file", file.path(), outcome.offset, outcome.left);
  }
  return outcome.bytes;
}

// Goes on behind the first `have` bytes. A read that brings fewer bytes than asked for has come to the end.
void read_to_end(OpenFile& file, std::size_t expected, Bytes& data, std::size_t have) {
  constexpr std::size_t least = 4096;
  for (std::size_t room = std::max(expected, have) + 1;; room = std::max(least, 2 * have)) {
    data.resize(room);
    have += read_some(file, data, have);
    if (have < room) {
      break;
    }
  }
  data.resize(have);
}

void close_checked(OpenFile& file) {
  if (const int error = storage::close_file(file); error != 0) {
    throw IoError(error, "close", file.path(), 0, 0);
  }
}

// How the calling thread reads a file that others have not been found beside, or nothing: it is to be looked at first.
std::optional<Way> find_way(const std::string& path) {
  if (!storage::can_pause()) {
    return Way{.pauses = false, .in_memory = false};
  }
  const storage::StorageService::Here here = storage::StorageService::here();
  if (const std::optional<KnownFolders::Device> device = here.service->known_folders(here.worker).find(path);
      device && !here.service->engine_is_given()) {
    return Way{.pauses = true, .in_memory = device->in_memory, .number = device->number};
  }
  return std::nullopt;
}

base::Descriptor open_by(const Way& way, const char* path) {
  const storage::Uninterposed own;
  // A FIFO is opened without its other end; a link may lead to another device.
  return base::Descriptor(way.pauses ? storage::open_cached(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                                     : ::open(path, O_RDONLY | O_CLOEXEC));
}

// Returns how many bytes came in one call, 0 after an error.
std::size_t read_by(const Way& way, int descriptor, Bytes& data) noexcept {
  const storage::Uninterposed own;
  const iovec whole{data.data(), data.size()};
  const ssize_t result = ::preadv2(descriptor, &whole, 1, 0, way.pauses && !way.in_memory ? RWF_NOWAIT : 0);
  return static_cast<std::size_t>(std::max<ssize_t>(result, 0));
}

// Whatever was opened, read by operations that pause.
Bytes read_opened(base::Descriptor descriptor, const std::string& path, const struct stat& status, Bytes data,
                  std::size_t have) {
  const int number = descriptor.release();
  const std::shared_ptr<OpenFile> file =
      OpenFile::make(path, number, -1, O_RDONLY | O_CLOEXEC, false, Urgency::program, status);
  if (S_ISFIFO(status.st_mode) && storage::can_pause()) {
    this_task::wait_readable(number);  // its end would be read if the other end has not been opened yet
  }
  read_to_end(*file, S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0, data, have);
  close_checked(*file);
  return data;
}

Bytes read_by(const Way& way, base::Descriptor descriptor, const std::string& path) {
  struct stat status{};
  if (fstat(descriptor.get(), &status) != 0) {
    storage::fail_to_open(errno, path);
  }
  const bool is_as_known = S_ISREG(status.st_mode) && (way.number == 0 || status.st_dev == way.number);
  if (!is_as_known && way.pauses) {
    known_folders().forget(path);
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Bytes data;
  std::size_t have = 0;
  if (is_as_known && size > 0 && size <= storage::most_inline) {
    data.resize(size);
    have = read_by(way, descriptor.get(), data);
    if (have == size) {
      tasking::count_moved(have);
      return data;
    }
  }
  return read_opened(std::move(descriptor), path, status, std::move(data), have);
}

// The next file of this folder need not be looked at.
void note_folder(const std::string& path, const struct stat& status, int descriptor) {
  const device::Device& device = device::device_of(status.st_dev, descriptor);
  if (device.caches_writes || device.in_memory) {
    known_folders().note(path, {.number = status.st_dev, .in_memory = device.in_memory});
  }
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  storage::require_whole_path(path, "open");
  if (const std::optional<Way> way = find_way(path)) {
    base::Descriptor descriptor = open_by(*way, path.c_str());
    if (descriptor.get() >= 0) {
      return read_by(*way, std::move(descriptor), path);
    }
    if (!way->pauses && errno != EINTR) {
      storage::fail_to_open(errno, path);
    }
  }
  const std::shared_ptr<OpenFile> file = storage::open_file(path, O_RDONLY, {});
  struct stat status{};
  const bool regular = fstat(file->descriptor(), &status) == 0 && S_ISREG(status.st_mode);
  Bytes data;
  read_to_end(*file, regular ? static_cast<std::size_t>(status.st_size) : 0, data, 0);
  if (regular && storage::can_pause()) {
    note_folder(path, status, file->descriptor());
  }
  close_checked(*file);
  return data;
}

}  // namespace dovetail
