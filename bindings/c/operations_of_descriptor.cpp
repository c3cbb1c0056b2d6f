// The operations on raw descriptors.
#include "operations.hpp"

namespace dovetail::c {
namespace {

auto of(std::int32_t descriptor) {
  return [descriptor] { return File::from_descriptor(descriptor); };
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;
using dovetail::File;

extern "C" {

int64_t dovetail_descriptor_pread(int32_t descriptor, void* buffer, size_t length, int64_t offset) {
  return count_of(__func__, of(descriptor), offset,
                  [&](const File& target, uint64_t begin) { return target.pread(room(buffer, length), begin); });
}

int32_t dovetail_descriptor_ipread(int32_t descriptor, void* buffer, size_t length, int64_t offset,
                                   size_t* transferred) {
  return done_at(__func__, of(descriptor), offset,
                 [&](const File& target, uint64_t begin) { target.ipread(room(buffer, length), begin, transferred); });
}

int64_t dovetail_descriptor_pwrite(int32_t descriptor, const void* buffer, size_t length, int64_t offset) {
  return count_of(__func__, of(descriptor), offset,
                  [&](const File& target, uint64_t begin) { return target.pwrite(content(buffer, length), begin); });
}

int32_t dovetail_descriptor_ipwrite(int32_t descriptor, const void* buffer, size_t length, int64_t offset,
                                    size_t* transferred) {
  return done_at(__func__, of(descriptor), offset, [&](const File& target, uint64_t begin) {
    target.ipwrite(content(buffer, length), begin, transferred);
  });
}

int64_t dovetail_descriptor_preadv(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset) {
  return count_of(__func__, of(descriptor), offset,
                  [&](const File& target, uint64_t begin) { return target.preadv(list(buffers, count), begin); });
}

int32_t dovetail_descriptor_ipreadv(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset,
                                    size_t* transferred) {
  return done_at(__func__, of(descriptor), offset,
                 [&](const File& target, uint64_t begin) { target.ipreadv(list(buffers, count), begin, transferred); });
}

int64_t dovetail_descriptor_pwritev(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset) {
  return count_of(__func__, of(descriptor), offset,
                  [&](const File& target, uint64_t begin) { return target.pwritev(list(buffers, count), begin); });
}

int32_t dovetail_descriptor_ipwritev(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset,
                                     size_t* transferred) {
  return done_at(__func__, of(descriptor), offset, [&](const File& target, uint64_t begin) {
    target.ipwritev(list(buffers, count), begin, transferred);
  });
}

int32_t dovetail_descriptor_fsync(int32_t descriptor) {
  return done(__func__, of(descriptor), [](const File& target) { target.fsync(); });
}

int32_t dovetail_descriptor_ifsync(int32_t descriptor) {
  return done(__func__, of(descriptor), [](const File& target) { target.ifsync(); });
}

int32_t dovetail_descriptor_fdatasync(int32_t descriptor) {
  return done(__func__, of(descriptor), [](const File& target) { target.fdatasync(); });
}

int32_t dovetail_descriptor_ifdatasync(int32_t descriptor) {
  return done(__func__, of(descriptor), [](const File& target) { target.ifdatasync(); });
}

int32_t dovetail_descriptor_fallocate(int32_t descriptor, int32_t mode, int64_t offset, int64_t length) {
  return done_at(__func__, of(descriptor), offset,
                 [&](const File& target, uint64_t begin) { target.fallocate(begin, natural(length, "length"), mode); });
}

}  // extern "C"
