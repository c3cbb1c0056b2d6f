#include "staging/staged_operations.hpp"

#include <fcntl.h>
#include <linux/falloc.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "dovetail/failure.hpp"
#include "storage/operation.hpp"

namespace dovetail::staging {
namespace {

using storage::Kind;
using storage::Operation;

void require(const FileFailure& failure) {
  if (failure) {
    throw IoError(failure.error,
                  failure.why.empty() ? failure.operation : std::string(failure.operation) + " (" + failure.why + ")",
                  failure.path, failure.offset, 0);
  }
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
  DrainedFile::Opened opened = DrainedFile::open(tier, path);
  require(opened.failure);
  auto operations = std::make_unique<StagedOperations>(std::move(opened.file), path, flags);
  if ((flags & O_TRUNC) != 0) {
    operations->set_size(0);
  }
  return operations;
}

const bool registered = storage::register_staged_file_opener(open_operations);

}  // namespace

StagedOperations::StagedOperations(std::shared_ptr<DrainedFile> file, std::string path, int flags)
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

bool StagedOperations::is_short(const Operation& operation) const noexcept {
  return storage::writes(operation.kind) && !operation.durable && operation.length <= storage::most_inline;
}

std::uint64_t StagedOperations::perform(const Operation& operation) {
  switch (operation.kind) {
    case Kind::read:
    case Kind::readv:
      return read(operation);
    case Kind::write:
    case Kind::writev: {
      const std::uint64_t bytes = write(operation);
      if (operation.durable) {
        sync();
      }
      return bytes;
    }
    case Kind::fsync:
    case Kind::fdatasync:
      sync();
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
  if (storage::writes(operation.kind) && !operation.durable) {
    sync();
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
    require(got.failure);
    bytes += got.bytes;
    if (got.bytes < buffer.iov_len) {
      break;
    }
  }
  return bytes;
}

std::uint64_t StagedOperations::write(const Operation& operation) {
  if ((flags_ & O_ACCMODE) == O_RDONLY) {
    throw IoError(EBADF, storage::name_of(operation.kind), path_, operation.offset, operation.length);
  }
  const auto all = [&](std::uint64_t offset) {
    iovec one{};
    for (const iovec& buffer : buffers_of(operation, one)) {
      require(file().write(offset, {static_cast<const std::byte*>(buffer.iov_base), buffer.iov_len}));
      offset += buffer.iov_len;
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

void StagedOperations::sync() {
  require(file_->take_failure());
  require(file().sync());
}

void StagedOperations::reserve(const Operation& operation) {
  if ((operation.mode & ~FALLOC_FL_KEEP_SIZE) != 0) {
    throw IoError(EOPNOTSUPP, "fallocate", path_, operation.offset, operation.length);
  }
  const base::LockGuard lock(file_->end_of_file);
  if (operation.mode == 0 && operation.offset + operation.length > size()) {
    require(file().set_size(operation.offset + operation.length));
  }
}

std::uint64_t StagedOperations::size() const { return file().size(); }

void StagedOperations::set_size(std::uint64_t size) {
  require(file().set_size(size));
  file_->wrote();
}

// All is in its place then: what failed before, in the background, does not matter any more.
void StagedOperations::drain() {
  TieredFile& drained = file();
  file_->take_failure();
  require(drained.drain());
}

void StagedOperations::close() {
  file();
  require(std::exchange(file_, nullptr)->close());
}

}  // namespace dovetail::staging
