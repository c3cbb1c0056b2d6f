// Calls that do not know of tasks. Decides whether a call may have to wait. If so, pauses the task while an executor makes
// exactly that call.
#include "storage/interposition.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "device/device.hpp"
#include "device/file_system.hpp"
#include "storage/operation.hpp"
#include "storage/paused_call.hpp"
#include "storage/storage_service.hpp"
#include "storage/uninterposed.hpp"
#include "tasking/context.hpp"
#include "tasking/moved_bytes.hpp"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"
#include "tasking/thread_identity.hpp"

// Weak: null where nothing is interposed.
extern "C" [[gnu::weak]] void dovetail_posix_attach(const dovetail::storage::Interposition* interposition) noexcept;

namespace dovetail::storage {
namespace {

// Of the thread, not of the task: nothing suspends while it is not zero.
thread_local constinit unsigned uninterposed = 0;

// Never inlined: no compiler may keep the address of errno across a pause.
[[gnu::noinline]] int saved_errno() noexcept { return errno; }
[[gnu::noinline]] void restore_errno(int value) noexcept { errno = value; }

bool in_task() noexcept {
  const tasking::ThreadContext& here = tasking::context();
  return here.worker != nullptr && here.task != nullptr && uninterposed == 0;
}

// A file system whose transfers are copies: nothing waits, or what waits is not a disk.
bool answers_at_once(int descriptor) noexcept {
  struct statfs information{};
  if (fstatfs(descriptor, &information) != 0) {
    return false;
  }
  constexpr unsigned long made_by_the_kernel[] = {
      PROC_SUPER_MAGIC,    SYSFS_MAGIC,         DEBUGFS_MAGIC,  TRACEFS_MAGIC, CGROUP_SUPER_MAGIC,
      CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,    PSTOREFS_MAGIC, BPF_FS_MAGIC,  SELINUX_MAGIC,
      DEVPTS_SUPER_MAGIC,  ANON_INODE_FS_MAGIC, BINFMTFS_MAGIC, NSFS_MAGIC};
  const auto type = static_cast<unsigned long>(information.f_type);
  return device::keeps_files_in_memory(type) || std::ranges::count(made_by_the_kernel, type) > 0;
}

bool is_file(const FileIdentity& file, CallKind kind) noexcept {
  return S_ISREG(file.mode) || S_ISBLK(file.mode) || (S_ISDIR(file.mode) && kind == CallKind::sync);
}

bool is_direct(int descriptor) noexcept {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags < 0 || (flags & O_DIRECT) != 0;
}

std::int64_t read_now(int descriptor, const iovec* vectors, int count, off_t offset) noexcept {
  const Uninterposed own;
  const ssize_t result = preadv2(descriptor, vectors, count, offset, RWF_NOWAIT);
  return result < 0 ? -errno : result;
}

enum class Cached : std::uint8_t { no, yes, end_of_file };

Cached look_at(int descriptor, off_t offset) noexcept {
  std::byte byte{};
  const iovec one{&byte, 1};
  const std::int64_t result = read_now(descriptor, &one, 1, offset);
  return result == 1 ? Cached::yes : result == 0 ? Cached::end_of_file : Cached::no;
}

// A read at a given place may be tried. Returns whether that was all; if not, `result` is what came of it.
bool read_from_cache(const Call& call, std::int64_t& result) noexcept {
  const iovec all{call.address, call.count};
  result = read_now(call.descriptor, &all, 1, call.offset);
  if (result <= 0) {
    return result == 0;
  }
  return static_cast<std::size_t>(result) == call.count ||
         look_at(call.descriptor, call.offset + result) == Cached::end_of_file;
}

// A read at the file position must be one call, so that two readers get different bytes. This function only finds out
// whether that call is going to wait. The answer may be wrong by the time of the call, which costs time and nothing else.
bool is_cached(int descriptor, std::size_t bytes) noexcept {
  const off_t begin = lseek(descriptor, 0, SEEK_CUR);
  if (begin < 0) {
    return false;
  }
  const Cached first = look_at(descriptor, begin);
  const off_t last = begin + static_cast<off_t>(bytes) - 1;
  if (first != Cached::yes || last / 4096 == begin / 4096) {
    return first != Cached::no;
  }
  return look_at(descriptor, last) != Cached::no;
}

// Whether the call can be made at once, without looking at what it is made on.
bool never_waits(const Call& call) noexcept {
  return (call.kind != CallKind::sync && call.count == 0) || (call.flags & RWF_NOWAIT) != 0 ||
         (call.kind == CallKind::pread && call.offset < 0) || (call.kind == CallKind::pwrite && call.offset < 0);
}

// Small enough for the calling core to copy.
bool is_small(const Call& call) noexcept { return !call.vectors && call.flags == 0 && call.count <= most_inline; }

bool may_be_cached(const Call& call) noexcept {
  return (call.kind == CallKind::read || call.kind == CallKind::pread) && is_small(call);
}

// Whether a write is a copy into the page cache, as a rule, and no call holds the file position if it needs that.
bool may_be_copied(const Call& call, const FileIdentity& file) noexcept {
  if ((call.kind != CallKind::write && call.kind != CallKind::pwrite) || !is_small(call) || !S_ISREG(file.mode) ||
      (call.kind == CallKind::write && position_in_use(file))) {
    return false;
  }
  const int flags = fcntl(call.descriptor, F_GETFL);
  return flags >= 0 && (flags & (O_DIRECT | O_DSYNC)) == 0;
}

// Returns whether the call was made. See `InPlaceWrites`.
bool write_in_place(const Call& call, const FileIdentity& file, std::int64_t& result) {
  const StorageService* service = StorageService::here().service;
  Device& device = device::device_of(file.device, call.descriptor);
  if (service == nullptr || service->engine_is_given() || !device.caches_writes) {
    return false;
  }
  const device::InPlaceWrites::Attempt attempt = device.in_place_writes.begin(base::ticks());
  if (!attempt.allowed) {
    return false;
  }
  const TracedCall traced(call);
  const PositionUse position(call, file);  // it may wait after all
  result = call.libc(call);
  traced.ended(result);
  device.in_place_writes.ended(attempt, base::ticks(), call.count);
  return true;
}

std::int64_t perform_in_task(const Call& call) {
  if (never_waits(call)) {
    return call.libc(call);
  }
  std::int64_t result = -EAGAIN;
  if (call.kind == CallKind::pread && may_be_cached(call) && !is_direct(call.descriptor) &&
      read_from_cache(call, result)) {
    return result;
  }
  FileIdentity file;
  if (!file.find(call.descriptor) || !is_file(file, call.kind)) {
    return result > 0 ? result : call.libc(call);
  }
  // Not while the position is taken: even to ask for it would wait.
  if (call.kind == CallKind::read && may_be_cached(call) && !position_in_use(file) && !is_direct(call.descriptor) &&
      is_cached(call.descriptor, call.count)) {
    return call.libc(call);
  }
  if (may_be_copied(call, file) && tasking::thread_is_as_noted() && write_in_place(call, file, result)) {
    return result;
  }
  // The file system of a device node says nothing about the device.
  if ((!S_ISBLK(file.mode) && answers_at_once(call.descriptor)) || !tasking::thread_is_as_noted()) {
    return call.libc(call);
  }
  return pause_for(call, file);
}

std::int64_t perform(const Call& call) {
  const int before = saved_errno();
  const std::int64_t result = perform_in_task(call);
  if (result > 0) {
    tasking::count_moved(static_cast<std::uint64_t>(result));
  }
  restore_errno(before);
  return result;
}

constexpr Interposition interposition{interposition_version, in_task, perform};

// While this library is there and its static objects live.
struct Attachment {
  Attachment() noexcept {
    if (dovetail_posix_attach != nullptr) {
      dovetail_posix_attach(&interposition);
    }
  }
  ~Attachment() {
    if (dovetail_posix_attach != nullptr) {
      dovetail_posix_attach(nullptr);
    }
  }
};
const Attachment attachment;

}  // namespace

Uninterposed::Uninterposed() noexcept { ++uninterposed; }
Uninterposed::~Uninterposed() { --uninterposed; }
bool Uninterposed::is_now() noexcept { return uninterposed != 0; }

}  // namespace dovetail::storage
