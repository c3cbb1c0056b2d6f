#include "request.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>
#include <system_error>

#include "dovetail/failure.hpp"
#include "errors.hpp"

namespace dovetail::omp {
namespace {

// More would keep the calling core from what it wanted to compute: the storage room draws the line here too.
constexpr std::uint64_t most_now = 128 * 1024;

bool reads(Kind kind) noexcept { return kind == Kind::pread || kind == Kind::preadv; }
bool transfers(Kind kind) noexcept { return kind != Kind::fsync && kind != Kind::fdatasync && kind != Kind::messages; }

std::span<const iovec> vectors_of(const Request& request, iovec& single) noexcept {
  if (request.vectors != nullptr) {
    return {request.vectors.get(), static_cast<std::size_t>(request.vector_count)};
  }
  single = {request.data, request.size};
  return {&single, 1};
}

std::uint64_t transfer(Request& request) {
  const File& file = request.file;
  const std::span<std::byte> data(request.data, request.size);
  const std::span<const iovec> vectors(request.vectors.get(), static_cast<std::size_t>(request.vector_count));
  const auto offset = static_cast<std::uint64_t>(request.offset);
  switch (request.kind) {
    case Kind::pread:
      return file.pread(data, offset);
    case Kind::preadv:
      return file.preadv(vectors, offset);
    case Kind::pwrite:
    case Kind::pwrite_fdatasync:
      return file.pwrite(data, offset);
    case Kind::pwritev:
      return file.pwritev(vectors, offset);
    case Kind::fsync:
      file.fsync();
      return 0;
    case Kind::fdatasync:
      file.fdatasync();
      return 0;
    case Kind::messages:
      detail::mpi::require_every_thread(request.abi);
      detail::mpi::wait(request.abi, request.handles.get(), request.size, request.statuses);
      return 0;
  }
  return 0;
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::pread:
      return "pread";
    case Kind::pwrite:
    case Kind::pwrite_fdatasync:
      return "pwrite";
    case Kind::preadv:
      return "preadv";
    case Kind::pwritev:
      return "pwritev";
    case Kind::fsync:
      return "fsync";
    case Kind::fdatasync:
      return "fdatasync";
    case Kind::messages:
      return "MPI_Wait";
  }
  return "?";
}

bool perform_now(Request& request, bool in_memory, Outcome& outcome) noexcept {
  if (!transfers(request.kind)) {
    return false;
  }
  if (request.size == 0) {
    return request.kind != Kind::pwrite_fdatasync;
  }
  // In memory, some core has to copy it in any case, and this one is awake.
  if (!in_memory && (!reads(request.kind) || request.size > most_now)) {
    return false;
  }
  if (request.kind == Kind::pwrite_fdatasync) {
    return false;
  }
  iovec single{};
  const std::span<const iovec> vectors = vectors_of(request, single);
  const int count = static_cast<int>(vectors.size());
  const ssize_t moved = reads(request.kind) ? preadv2(request.descriptor, vectors.data(), count, request.offset,
                                                      in_memory ? 0 : RWF_NOWAIT)
                                            : pwritev(request.descriptor, vectors.data(), count, request.offset);
  // Anything but all of it (the end of the file, an error, a part that is not in memory) is done anew by the rules.
  if (moved < 0 || static_cast<std::uint64_t>(moved) != request.size) {
    return false;
  }
  outcome.bytes = request.size;
  return true;
}

Outcome perform(Request& request) noexcept {
  Outcome outcome;
  try {
    outcome.bytes = transfer(request);
    if (request.kind == Kind::pwrite_fdatasync) {
      outcome.operation = "fdatasync after pwrite";
      request.file.fdatasync();
    }
  } catch (const IoError& error) {
    outcome.error = error.code().value();
    outcome.offset = static_cast<std::int64_t>(error.offset());
    outcome.left = error.length();
  } catch (const std::bad_alloc&) {
    outcome.error = ENOMEM;
  } catch (const std::system_error& error) {
    outcome.error = error.code().value();
  } catch (const std::exception& failure) {  // MPI says what is wrong, or Dovetail says why it cannot be asked
    request.failure = std::current_exception();
    outcome.operation = failure.what();
    outcome.error = EIO;
  } catch (...) {
    outcome.error = EIO;
  }
  return outcome;
}

void deliver(Request& request, const Outcome& outcome) noexcept {
  if (request.result != nullptr) {
    *request.result = outcome.error != 0 ? -outcome.error : static_cast<ssize_t>(outcome.bytes);
    return;
  }
  Outcome told = outcome;
  if (told.error == 0) {
    if (!transfers(request.kind) || told.bytes == request.size) {
      return;
    }
    told.error = ENODATA;
    told.offset = request.offset + static_cast<std::int64_t>(told.bytes);
    told.left = request.size - told.bytes;
  } else if (told.offset < 0 && transfers(request.kind)) {
    told.offset = request.offset;
    told.left = request.size;
  }
  const char* const operation = told.operation != nullptr ? told.operation : name_of(request.kind);
  report(request.task->status, {.error = -told.error,
                                .descriptor = request.descriptor,
                                .offset = transfers(request.kind) ? told.offset : -1,
                                .left = told.left,
                                .operation = operation,
                                .message = nullptr});
}

}  // namespace dovetail::omp
