// The C++ face: translates errors into exceptions and calls the operations.
#include "dovetail/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "dovetail/failure.hpp"
#include "storage/blocking_operations.hpp"
#include "storage/declared_files.hpp"
#include "storage/file_operations.hpp"
#include "storage/open_close.hpp"
#include "storage/open_file.hpp"
#include "storage/perform.hpp"

namespace dovetail {
namespace {

using storage::FileUse;
using storage::Kind;
using storage::OpenFile;
using storage::Operation;
using storage::Outcome;

// Offsets above it are negative for the system; one of them means "where the descriptor stands".
constexpr std::uint64_t largest_offset = INT64_MAX;

const std::string no_path = "(no open file)";

OpenFile& need(const std::shared_ptr<OpenFile>& file, const char* operation) {
  if (file == nullptr) {
    throw IoError(EBADF, operation, no_path, 0, 0);
  }
  return *file;
}

// The caller ends it with a FileUse.
void begin(OpenFile& file, const char* operation, std::uint64_t offset = 0) {
  if (!file.begin()) {
    throw IoError(EBADF, operation, file.path(), offset, 0);
  }
}

void check(const OpenFile& file, const Operation& operation) {
  if (operation.offset > largest_offset || operation.length > largest_offset - operation.offset) {
    throw IoError(EINVAL, storage::name_of(operation.kind), file.path(), operation.offset, operation.length);
  }
}

std::size_t run(const std::shared_ptr<OpenFile>& file, const Operation& operation) {
  OpenFile& open = need(file, storage::name_of(operation.kind));
  check(open, operation);
  const Outcome outcome = storage::perform(open, operation);
  if (outcome.error != 0) {
    throw IoError(outcome.error, storage::name_of(outcome.kind), open.path(), outcome.offset, outcome.left);
  }
  return outcome.bytes;
}

void bind_to_task(const std::shared_ptr<OpenFile>& file, const Operation& operation,
                  std::size_t* transferred = nullptr) {
  OpenFile& open = need(file, storage::name_of(operation.kind));
  check(open, operation);
  storage::bind(open, operation, transferred);
}

Operation plain(Kind kind, std::byte* data, std::size_t length, std::uint64_t offset) {
  Operation operation;
  operation.kind = kind;
  operation.data = data;
  operation.length = length;
  operation.offset = offset;
  return operation;
}

Operation with_vectors(Kind kind, std::span<const iovec> buffers, std::uint64_t offset) {
  Operation operation;
  operation.kind = kind;
  operation.vectors = buffers;
  operation.length = storage::total_length(buffers);
  operation.offset = offset;
  return operation;
}

Operation of_kind(Kind kind) {
  Operation operation;
  operation.kind = kind;
  return operation;
}

std::byte* writable(std::span<const std::byte> data) {
  // The bytes of a write are only read; one type of pointer for both keeps a request small.
  return const_cast<std::byte*>(data.data());
}

}  // namespace

File File::open(const std::string& path, int flags, const FileOptions& options) {
  return File(storage::open_file(path, flags, options));
}

File File::from_descriptor(int descriptor, bool owned) { return File(OpenFile::adopt(descriptor, owned)); }

bool File::is_open() const noexcept { return file_ != nullptr && !file_->closed(); }

int File::descriptor() const noexcept { return is_open() ? file_->descriptor() : -1; }

const std::string& File::path() const noexcept { return file_ != nullptr ? file_->path() : no_path; }

std::uint64_t File::space() const {
  if (file_ == nullptr) {
    throw IoError(EBADF, "declare a region of", "a File that was never opened", 0, 0);
  }
  if (storage::are_declared_files_kept() &&
      file_->kept() != storage::declared_files_version.load(std::memory_order_relaxed)) [[unlikely]] {
    storage::keep_declared_file(file_);
  }
  return file_->space();
}

bool File::direct() const noexcept { return is_open() && file_->direct_descriptor() >= 0; }

std::uint64_t File::size() const {
  OpenFile& file = need(file_, "fstat");
  begin(file, "fstat");
  const FileUse use(file);
  if (file.operations() != nullptr) {
    return file.operations()->size();
  }
  struct stat status{};
  if (fstat(file.descriptor(), &status) != 0) {
    throw IoError(errno, "fstat", file.path(), 0, 0);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read_bytes(std::span<std::byte> data, std::uint64_t offset) const {
  return run(file_, plain(Kind::read, data.data(), data.size(), offset));
}
void File::bind_read(std::span<std::byte> data, std::uint64_t offset, std::size_t* transferred) const {
  bind_to_task(file_, plain(Kind::read, data.data(), data.size(), offset), transferred);
}
std::size_t File::write_bytes(std::span<const std::byte> data, std::uint64_t offset) const {
  return run(file_, plain(Kind::write, writable(data), data.size(), offset));
}
void File::bind_write(std::span<const std::byte> data, std::uint64_t offset, std::size_t* transferred) const {
  bind_to_task(file_, plain(Kind::write, writable(data), data.size(), offset), transferred);
}

std::size_t File::write_durably(std::span<const std::byte> data, std::uint64_t offset) const {
  Operation operation = plain(Kind::write, writable(data), data.size(), offset);
  operation.durable = true;
  return run(file_, operation);
}

std::size_t File::preadv(std::span<const iovec> buffers, std::uint64_t offset) const {
  return run(file_, with_vectors(Kind::readv, buffers, offset));
}
void File::ipreadv(std::span<const iovec> buffers, std::uint64_t offset, std::size_t* transferred) const {
  bind_to_task(file_, with_vectors(Kind::readv, buffers, offset), transferred);
}
std::size_t File::pwritev(std::span<const iovec> buffers, std::uint64_t offset) const {
  return run(file_, with_vectors(Kind::writev, buffers, offset));
}
void File::ipwritev(std::span<const iovec> buffers, std::uint64_t offset, std::size_t* transferred) const {
  bind_to_task(file_, with_vectors(Kind::writev, buffers, offset), transferred);
}

void File::fsync() const { run(file_, of_kind(Kind::fsync)); }
void File::ifsync() const { bind_to_task(file_, of_kind(Kind::fsync)); }
void File::fdatasync() const { run(file_, of_kind(Kind::fdatasync)); }
void File::ifdatasync() const { bind_to_task(file_, of_kind(Kind::fdatasync)); }

void File::fallocate(std::uint64_t offset, std::uint64_t length, int mode) const {
  Operation operation = of_kind(Kind::fallocate);
  operation.offset = offset;
  operation.length = length;
  operation.mode = mode;
  run(file_, operation);
}

void File::truncate(std::uint64_t size) const {
  OpenFile& file = need(file_, "ftruncate");
  if (size > largest_offset) {
    throw IoError(EINVAL, "ftruncate", file.path(), size, 0);
  }
  begin(file, "ftruncate", size);
  const FileUse use(file);
  if (file.operations() != nullptr) {
    file.operations()->set_size(size);
    return;
  }
  int result = 0;
  do {
    result = ftruncate(file.descriptor(), static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    throw IoError(errno, "ftruncate", file.path(), size, 0);
  }
}

void File::drain() const {
  OpenFile& file = need(file_, "drain");
  if (file.operations() == nullptr) {
    fsync();
    return;
  }
  begin(file, "drain");
  const FileUse use(file);
  storage::call_blocking([&file] { file.operations()->drain(); });
}
void File::idrain() const {
  OpenFile& file = need(file_, "drain");
  if (file.operations() == nullptr) {
    ifsync();
    return;
  }
  begin(file, "drain");
  storage::bind_blocking(FileUse(file), [&file] { file.operations()->drain(); });
}

void File::close() {
  OpenFile& file = need(file_, "close");
  if (const int error = storage::close_file(file)) {
    throw IoError(error, "close", file.path(), 0, 0);
  }
}

}  // namespace dovetail
