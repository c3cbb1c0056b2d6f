#include "staging/staged_operations.hpp"

#include <fcntl.h>
#include <linux/falloc.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <utility>

#include "dovetail/failure.hpp"
#include "storage/operation.hpp"

namespace dovetail::staging {
namespace {

using storage::Kind;
using storage::Operation;

// Both errors: that of the program's call, and what was wrong where.
[[noreturn]] void fail(const FileFailure& failure, const std::string& call, const std::string& path,
                       std::uint64_t offset, std::uint64_t left) {
  throw IoError(failure.error, call + " (" + failure.text() + ")", path, offset, left);
}

std::span<const iovec> buffers_of(const Operation& operation, iovec& one) noexcept {
  if (storage::vectored(operation.kind)) {
    return operation.vectors;
  }
  one = {operation.data, operation.length};
  return {&one, 1};
}

std::unique_ptr<storage::FileOperations> open_operations(const std::string& path, int flags,
                                                         const FileOptions& options) {
  const char* const named = std::getenv("DOVETAIL_TIER");
  const std::string tier = !options.tier.empty() ? options.tier : named != nullptr ? named : "";
  if (tier.empty()) {
    throw IoError(EINVAL, "stage without a tier (name its folder, or set DOVETAIL_TIER),", path, 0, 0);
  }
  TierSettings settings = settings_from_environment();
  settings.reads_only = (flags & O_ACCMODE) == O_RDONLY;
  SharedTieredFile::Opened opened = SharedTieredFile::open(tier, path, settings);
  if (opened.failure) {
    fail(opened.failure, "stage", path, 0, 0);
  }
  auto operations = std::make_unique<StagedOperations>(std::move(opened.file), path, flags);
  if ((flags & O_TRUNC) != 0 && operations->size() != 0) {
    operations->set_size(0);
  }
  return operations;
}

const bool registered = storage::register_staged_file_opener(open_operations);

}  // namespace

StagedOperations::StagedOperations(std::shared_ptr<SharedTieredFile> file, std::string path, int flags)
    : file_(std::move(file)), path_(std::move(path)), flags_(flags) {}

StagedOperations::~StagedOperations() {
  if (file_ != nullptr) {
    file_->abandon();
  }
}

TieredFile& StagedOperations::file() const {
  if (!file_->is_of_this_process()) {
    throw IoError(ENOTSUP, "use in the child of a fork (its parent stages the file; open another one in the child),",
                  path_, 0, 0);
  }
  return file_->file();
}

void StagedOperations::require(const FileFailure& failure, const char* call, std::uint64_t offset,
                               std::uint64_t left) const {
  if (failure) {
    fail(failure, call, path_, offset, left);
  }
}

void StagedOperations::require_writable(const char* call, std::uint64_t offset, std::uint64_t length, int error) const {
  if ((flags_ & O_ACCMODE) == O_RDONLY) {
    throw IoError(error, call, path_, offset, length);
  }
}

bool StagedOperations::is_durable(const Operation& operation) const noexcept {
  return operation.durable || (flags_ & O_DSYNC) != 0;  // O_SYNC contains that bit
}

bool StagedOperations::try_perform(const Operation& operation, std::uint64_t& bytes) {
  if (operation.kind != Kind::write || operation.length > storage::most_inline || is_durable(operation) ||
      (flags_ & O_APPEND) != 0 || (flags_ & O_ACCMODE) == O_RDONLY) {
    return false;
  }
  if (file().write_on_tier(operation.offset, {operation.data, operation.length})) {
    return false;
  }
  file_->wrote();
  bytes = operation.length;
  return true;
}

std::uint64_t StagedOperations::perform(const Operation& operation) {
  switch (operation.kind) {
    case Kind::read:
    case Kind::readv:
      return read(operation);
    case Kind::write:
    case Kind::writev: {
      const std::uint64_t bytes = write(operation);
      if (is_durable(operation)) {
        require(file().sync(), "fdatasync");
      }
      return bytes;
    }
    case Kind::fsync:
    case Kind::fdatasync:
      require(file().sync(), storage::name_of(operation.kind));
      require(file_->take_failure(), storage::name_of(operation.kind));
      return 0;
    case Kind::fallocate:
      reserve(operation);
      return 0;
    default:
      throw IoError(ENOTSUP, storage::name_of(operation.kind), path_, operation.offset, operation.length);
  }
}

std::uint64_t StagedOperations::perform_bound(const Operation& operation) {
  const std::uint64_t bytes = perform(operation);
  if (storage::writes(operation.kind) && !is_durable(operation)) {
    require(file().sync(), "fdatasync");
  }
  return bytes;
}

std::uint64_t StagedOperations::read(const Operation& operation) {
  if ((flags_ & O_ACCMODE) == O_WRONLY) {
    throw IoError(EBADF, storage::name_of(operation.kind), path_, operation.offset, operation.length);
  }
  iovec one{};
  std::uint64_t bytes = 0;
  for (const iovec& buffer : buffers_of(operation, one)) {
    const TieredFile::Read got =
        file().read(operation.offset + bytes, {static_cast<std::byte*>(buffer.iov_base), buffer.iov_len});
    bytes += got.bytes;
    require(got.failure, storage::name_of(operation.kind), operation.offset + bytes, operation.length - bytes);
    if (got.bytes < buffer.iov_len) {
      break;
    }
  }
  return bytes;
}

std::uint64_t StagedOperations::write(const Operation& operation) {
  const char* const call = storage::name_of(operation.kind);
  require_writable(call, operation.offset, operation.length, EBADF);
  const auto all = [&](std::uint64_t offset) {
    iovec one{};
    std::uint64_t left = operation.length;
    for (const iovec& buffer : buffers_of(operation, one)) {
      require(file().write(offset, {static_cast<const std::byte*>(buffer.iov_base), buffer.iov_len}), call, offset,
              left);
      offset += buffer.iov_len;
      left -= buffer.iov_len;
    }
  };
  if ((flags_ & O_APPEND) != 0) {
    const base::LockGuard lock(file_->end_of_file);
    all(size());
  } else {
    all(operation.offset);
  }
  file_->wrote();
  return operation.length;
}

void StagedOperations::reserve(const Operation& operation) {
  require_writable("fallocate", operation.offset, operation.length, EBADF);
  if ((operation.mode & ~FALLOC_FL_KEEP_SIZE) != 0) {
    throw IoError(EOPNOTSUPP, "fallocate", path_, operation.offset, operation.length);
  }
  const std::uint64_t end = operation.offset + operation.length;
  const base::LockGuard lock(file_->end_of_file);
  if (operation.mode == 0 && end > size()) {
    require(file().set_size(end), "fallocate", operation.offset, operation.length);
  }
}

std::uint64_t StagedOperations::size() const { return file().size(); }

void StagedOperations::set_size(std::uint64_t size) {
  require_writable("ftruncate", size, 0, EINVAL);
  require(file().set_size(size), "ftruncate", size);
  file_->wrote();
}

// All is in its place then: what failed before, in the background, does not matter any more.
void StagedOperations::drain() {
  require(file().drain(), "drain");
  file_->take_failure();
}

void StagedOperations::close() {
  file();
  require(std::exchange(file_, nullptr)->close(), "close");
}

}  // namespace dovetail::staging
