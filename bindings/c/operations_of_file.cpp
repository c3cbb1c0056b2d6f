// The operations on open files.
#include "operations.hpp"

namespace dovetail::c {
namespace {

auto of(const dovetail_file* file) {
  return [file]() -> const File& { return given(file, "file").file; };
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;
using dovetail::File;

extern "C" {

int64_t dovetail_file_pread(const dovetail_file* file, void* buffer, size_t length, int64_t offset) {
  return count_of(__func__, of(file), offset,
                  [&](const File& target, uint64_t begin) { return target.pread(room(buffer, length), begin); });
}

int32_t dovetail_file_ipread(const dovetail_file* file, void* buffer, size_t length, int64_t offset,
                             size_t* transferred) {
  return done_at(__func__, of(file), offset,
                 [&](const File& target, uint64_t begin) { target.ipread(room(buffer, length), begin, transferred); });
}

int64_t dovetail_file_pwrite(const dovetail_file* file, const void* buffer, size_t length, int64_t offset) {
  return count_of(__func__, of(file), offset,
                  [&](const File& target, uint64_t begin) { return target.pwrite(content(buffer, length), begin); });
}

int32_t dovetail_file_ipwrite(const dovetail_file* file, const void* buffer, size_t length, int64_t offset,
                              size_t* transferred) {
  return done_at(__func__, of(file), offset, [&](const File& target, uint64_t begin) {
    target.ipwrite(content(buffer, length), begin, transferred);
  });
}

int64_t dovetail_file_pwrite_durable(const dovetail_file* file, const void* buffer, size_t length, int64_t offset) {
  return count_of(__func__, of(file), offset, [&](const File& target, uint64_t begin) {
    return target.pwrite_durable(content(buffer, length), begin);
  });
}

int64_t dovetail_file_preadv(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset) {
  return count_of(__func__, of(file), offset,
                  [&](const File& target, uint64_t begin) { return target.preadv(list(buffers, count), begin); });
}

int32_t dovetail_file_ipreadv(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset,
                              size_t* transferred) {
  return done_at(__func__, of(file), offset,
                 [&](const File& target, uint64_t begin) { target.ipreadv(list(buffers, count), begin, transferred); });
}

int64_t dovetail_file_pwritev(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset) {
  return count_of(__func__, of(file), offset,
                  [&](const File& target, uint64_t begin) { return target.pwritev(list(buffers, count), begin); });
}

int32_t dovetail_file_ipwritev(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset,
                               size_t* transferred) {
  return done_at(__func__, of(file), offset, [&](const File& target, uint64_t begin) {
    target.ipwritev(list(buffers, count), begin, transferred);
  });
}

int32_t dovetail_file_fsync(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.fsync(); });
}

int32_t dovetail_file_ifsync(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.ifsync(); });
}

int32_t dovetail_file_fdatasync(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.fdatasync(); });
}

int32_t dovetail_file_ifdatasync(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.ifdatasync(); });
}

int32_t dovetail_file_drain(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.drain(); });
}

int32_t dovetail_file_idrain(const dovetail_file* file) {
  return done(__func__, of(file), [](const File& target) { target.idrain(); });
}

int32_t dovetail_file_fallocate(const dovetail_file* file, int32_t mode, int64_t offset, int64_t length) {
  return done_at(__func__, of(file), offset,
                 [&](const File& target, uint64_t begin) { target.fallocate(begin, natural(length, "length"), mode); });
}

}  // extern "C"
