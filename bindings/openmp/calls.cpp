// The requests of the C interface: checked, found, tried, gathered.
#include <cerrno>
#include <climits>
#include <new>

#include "descriptors.hpp"
#include "request.hpp"

namespace dovetail::omp {
namespace {

/// What is wrong with the request, as an errno; 0: nothing. Fills in `size` where there are several buffers.
int check(Request& request, const iovec* vectors, int count) noexcept {
  if (vectors != nullptr || count != 0) {
    if (count < 0 || count > IOV_MAX) {
      return EINVAL;
    }
    if (vectors == nullptr) {
      return EFAULT;
    }
    for (int i = 0; i < count; ++i) {
      if (__builtin_add_overflow(request.size, vectors[i].iov_len, &request.size)) {
        return EINVAL;
      }
    }
    request.vectors.reset(new (std::nothrow) iovec[static_cast<std::size_t>(count)]);
    if (request.vectors == nullptr) {
      return ENOMEM;
    }
    for (int i = 0; i < count; ++i) {
      request.vectors[static_cast<std::size_t>(i)] = vectors[i];
    }
    request.vector_count = count;
  }
  if (request.offset < 0 || request.size > SSIZE_MAX) {
    return EINVAL;
  }
  return 0;
}

void start(dovetail_omp_task* task, Request& request, int error) noexcept {
  Outcome outcome;
  outcome.error = error;
  Found found;
  if (error == 0) {
    found = find_file(request.descriptor);
    outcome.error = found.error;
  }
  if (outcome.error != 0) {
    deliver(request, outcome);
    return;
  }
  if (!found.direct && (found.in_memory || found.expects_hit || request.size == 0)) {
    const bool done = perform_now(request, found.in_memory, outcome);
    if (request.kind == Kind::pread || request.kind == Kind::preadv) {
      note_hit(request.descriptor, done);
    }
    if (done) {
      deliver(request, outcome);
      return;
    }
  }
  request.file = std::move(found.file);
  gather(*task, request);
}

Request& prepare(dovetail_omp_task* task, Kind kind, int descriptor, std::int64_t offset, ssize_t* result) {
  if (task == nullptr) {
    stop_program(name_of(kind), "the task is null: pass what dovetail_omp_begin returned");
  }
  Request& request = add_request(*task);
  request.kind = kind;
  request.descriptor = descriptor;
  request.offset = offset;
  request.result = result;
  return request;
}

void transfer(dovetail_omp_task* task, Kind kind, int descriptor, const void* buffer, size_t size, int64_t offset,
              ssize_t* result) {
  Request& request = prepare(task, kind, descriptor, offset, result);
  // One type of pointer for both; those of writes are only read.
  request.data = static_cast<std::byte*>(const_cast<void*>(buffer));
  request.size = size;
  start(task, request, buffer == nullptr && size > 0 ? EFAULT : check(request, nullptr, 0));
}

void transfer_vectors(dovetail_omp_task* task, Kind kind, int descriptor, const iovec* buffers, int count,
                      int64_t offset, ssize_t* result) {
  Request& request = prepare(task, kind, descriptor, offset, result);
  start(task, request, check(request, buffers, count));
}

void synchronise(dovetail_omp_task* task, Kind kind, int descriptor, ssize_t* result) {
  start(task, prepare(task, kind, descriptor, 0, result), 0);
}

}  // namespace
}  // namespace dovetail::omp

using namespace dovetail::omp;

void dovetail_omp_pread(dovetail_omp_task* io, int descriptor, void* buffer, size_t size, int64_t offset,
                        ssize_t* result) {
  transfer(io, Kind::pread, descriptor, buffer, size, offset, result);
}

void dovetail_omp_pwrite(dovetail_omp_task* io, int descriptor, const void* buffer, size_t size, int64_t offset,
                         ssize_t* result) {
  transfer(io, Kind::pwrite, descriptor, buffer, size, offset, result);
}

void dovetail_omp_preadv(dovetail_omp_task* io, int descriptor, const struct iovec* buffers, int count, int64_t offset,
                         ssize_t* result) {
  transfer_vectors(io, Kind::preadv, descriptor, buffers, count, offset, result);
}

void dovetail_omp_pwritev(dovetail_omp_task* io, int descriptor, const struct iovec* buffers, int count, int64_t offset,
                          ssize_t* result) {
  transfer_vectors(io, Kind::pwritev, descriptor, buffers, count, offset, result);
}

void dovetail_omp_fsync(dovetail_omp_task* io, int descriptor, ssize_t* result) {
  synchronise(io, Kind::fsync, descriptor, result);
}

void dovetail_omp_fdatasync(dovetail_omp_task* io, int descriptor, ssize_t* result) {
  synchronise(io, Kind::fdatasync, descriptor, result);
}

void dovetail_omp_pwrite_fdatasync(dovetail_omp_task* io, int descriptor, const void* buffer, size_t size,
                                   int64_t offset, ssize_t* result) {
  transfer(io, Kind::pwrite_fdatasync, descriptor, buffer, size, offset, result);
}
