#include "call.hpp"

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

std::span<const iovec> vectors_of(const Call& call, iovec& single) noexcept {
  if (call.vectors != nullptr) {
    return {call.vectors.get(), static_cast<std::size_t>(call.vector_count)};
  }
  single = {call.data, call.size};
  return {&single, 1};
}

std::uint64_t transfer(Call& call) {
  const File& file = call.file;
  const std::span<std::byte> data(call.data, call.size);
  const std::span<const iovec> vectors(call.vectors.get(), static_cast<std::size_t>(call.vector_count));
  const auto offset = static_cast<std::uint64_t>(call.offset);
  switch (call.kind) {
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
      detail::mpi::require_every_thread(call.abi);
      detail::mpi::wait(call.abi, call.handles.get(), call.size, call.statuses);
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

bool perform_now(Call& call, bool in_memory, CallResult& outcome) noexcept {
  if (!transfers(call.kind)) {
    return false;
  }
  if (call.size == 0) {
    return call.kind != Kind::pwrite_fdatasync;
  }
  // In memory, some core has to copy it in any case, and this one is awake.
  if (!in_memory && (!reads(call.kind) || call.size > most_now)) {
    return false;
  }
  if (call.kind == Kind::pwrite_fdatasync) {
    return false;
  }
  iovec single{};
  const std::span<const iovec> vectors = vectors_of(call, single);
  const int count = static_cast<int>(vectors.size());
  const ssize_t moved = reads(call.kind)
                            ? preadv2(call.descriptor, vectors.data(), count, call.offset, in_memory ? 0 : RWF_NOWAIT)
                            : pwritev(call.descriptor, vectors.data(), count, call.offset);
  // Anything but all of it (the end of the file, an error, a part that is not in memory) is done anew by the rules.
  if (moved < 0 || static_cast<std::uint64_t>(moved) != call.size) {
    return false;
  }
  outcome.bytes = call.size;
  return true;
}

CallResult perform(Call& call) noexcept {
  CallResult outcome;
  try {
    outcome.bytes = transfer(call);
    if (call.kind == Kind::pwrite_fdatasync) {
      outcome.operation = "fdatasync after pwrite";
      call.file.fdatasync();
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
    call.failure = std::current_exception();
    outcome.operation = failure.what();
    outcome.error = EIO;
  } catch (...) {
    outcome.error = EIO;
  }
  return outcome;
}

void deliver(Call& call, const CallResult& outcome) noexcept {
  if (call.result != nullptr) {
    *call.result = outcome.error != 0 ? -outcome.error : static_cast<ssize_t>(outcome.bytes);
    return;
  }
  CallResult told = outcome;
  if (told.error == 0) {
    if (!transfers(call.kind) || told.bytes == call.size) {
      return;
    }
    told.error = ENODATA;
    told.offset = call.offset + static_cast<std::int64_t>(told.bytes);
    told.left = call.size - told.bytes;
  } else if (told.offset < 0 && transfers(call.kind)) {
    told.offset = call.offset;
    told.left = call.size;
  }
  const char* const operation = told.operation != nullptr ? told.operation : name_of(call.kind);
  report(call.task->status, {.error = -told.error,
                             .descriptor = call.descriptor,
                             .offset = transfers(call.kind) ? told.offset : -1,
                             .left = told.left,
                             .operation = operation,
                             .message = nullptr});
}

}  // namespace dovetail::omp
