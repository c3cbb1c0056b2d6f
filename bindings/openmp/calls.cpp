// The calls of the C interface: checked, found, tried, gathered.
#include <cerrno>
#include <climits>
#include <new>

#include "call.hpp"
#include "descriptors.hpp"

namespace dovetail::omp {
namespace {

/// What is wrong with the call, as an errno; 0: nothing. Fills in `size` where there are several buffers.
int check(Call& call, const iovec* vectors, int count) noexcept {
  if (vectors != nullptr || count != 0) {
    if (count < 0 || count > IOV_MAX) {
      return EINVAL;
    }
    if (vectors == nullptr) {
      return EFAULT;
    }
    for (int i = 0; i < count; ++i) {
      if (__builtin_add_overflow(call.size, vectors[i].iov_len, &call.size)) {
        return EINVAL;
      }
    }
    call.vectors.reset(new (std::nothrow) iovec[static_cast<std::size_t>(count)]);
    if (call.vectors == nullptr) {
      return ENOMEM;
    }
    for (int i = 0; i < count; ++i) {
      call.vectors[static_cast<std::size_t>(i)] = vectors[i];
    }
    call.vector_count = count;
  }
  if (call.offset < 0 || call.size > SSIZE_MAX) {
    return EINVAL;
  }
  return 0;
}

void start(dovetail_omp_task* task, Call& call, int error) noexcept {
  CallResult outcome;
  outcome.error = error;
  Found found;
  if (error == 0) {
    found = find_file(call.descriptor);
    outcome.error = found.error;
  }
  if (outcome.error != 0) {
    deliver(call, outcome);
    return;
  }
  if (!found.direct && (found.in_memory || found.expects_hit || call.size == 0)) {
    const bool done = perform_now(call, found.in_memory, outcome);
    if (call.kind == Kind::pread || call.kind == Kind::preadv) {
      note_hit(call.descriptor, done);
    }
    if (done) {
      deliver(call, outcome);
      return;
    }
  }
  call.file = std::move(found.file);
  gather(*task, call);
}

Call& prepare(dovetail_omp_task* task, Kind kind, int descriptor, std::int64_t offset, ssize_t* result) {
  if (task == nullptr) {
    stop_program(name_of(kind), "the task is null: pass what dovetail_omp_begin returned");
  }
  Call& call = add_call(*task);
  call.kind = kind;
  call.descriptor = descriptor;
  call.offset = offset;
  call.result = result;
  return call;
}

void transfer(dovetail_omp_task* task, Kind kind, int descriptor, const void* buffer, size_t size, int64_t offset,
              ssize_t* result) {
  Call& call = prepare(task, kind, descriptor, offset, result);
  // One type of pointer for both; those of writes are only read.
  call.data = static_cast<std::byte*>(const_cast<void*>(buffer));
  call.size = size;
  start(task, call, buffer == nullptr && size > 0 ? EFAULT : check(call, nullptr, 0));
}

void transfer_vectors(dovetail_omp_task* task, Kind kind, int descriptor, const iovec* buffers, int count,
                      int64_t offset, ssize_t* result) {
  Call& call = prepare(task, kind, descriptor, offset, result);
  start(task, call, check(call, buffers, count));
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
