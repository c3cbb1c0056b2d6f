#include "storage/paused_call.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>

#include "tasking/pause.hpp"
#include "tasking/service.hpp"
#include "trace/trace.hpp"

namespace dovetail::storage {
namespace {

const char* name_of(const Call& call) noexcept {
  switch (call.kind) {
    case CallKind::read:
      return call.vectors ? "readv" : "read";
    case CallKind::write:
      return call.vectors ? "writev" : "write";
    case CallKind::pread:
      return call.vectors ? "preadv" : "pread";
    case CallKind::pwrite:
      return call.vectors ? "pwritev" : "pwrite";
    case CallKind::sync:
      break;
  }
  return call.data_only ? "fdatasync" : "fsync";
}

// Calls that are under way and use the file position, by the file.
std::atomic<unsigned> positions_in_use[256];

std::atomic<unsigned>& position_of(const FileIdentity& file) noexcept {
  const std::uint64_t mixed = (file.inode + file.device * 31) * 0x9e37'79b9'7f4a'7c15U;
  return positions_in_use[mixed >> 56];
}

// Lies on the stack of the paused task.
struct PausedCall {
  tasking::BlockingWork work;
  const Call* call = nullptr;
  FileIdentity file;
  detail::Task* task = nullptr;
  std::int64_t result = 0;
};

void make_call(tasking::BlockingWork* work) {
  auto& paused = *reinterpret_cast<PausedCall*>(work);
  FileIdentity now;
  paused.result =
      now.find(paused.call->descriptor) && now.same_file(paused.file) ? paused.call->libc(*paused.call) : -EBADF;
  tasking::wake(paused.task);
}

}  // namespace

TracedCall::TracedCall(const Call& call) {
  if (trace::enabled()) [[unlikely]] {
    const bool reads = call.kind == CallKind::read || call.kind == CallKind::pread;
    const bool placed = call.kind == CallKind::pread || call.kind == CallKind::pwrite;
    const std::string file = "descriptor " + std::to_string(call.descriptor);
    trace::io_submitted(trace::number_of(this),
                        call.kind == CallKind::sync ? trace::Transfer::none
                        : reads                     ? trace::Transfer::read
                                                    : trace::Transfer::write,
                        name_of(call), file, call.vectors ? 0 : call.count,
                        placed ? static_cast<std::uint64_t>(call.offset) : 0);
  }
}

void TracedCall::ended(std::int64_t result) const noexcept { trace::io_completed(trace::number_of(this), result); }

bool FileIdentity::find(int descriptor) noexcept {
  struct statx status{};
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status) != 0) {
    return false;
  }
  device = makedev(status.stx_dev_major, status.stx_dev_minor);
  inode = status.stx_ino;
  mode = status.stx_mode;
  return true;
}

PositionUse::PositionUse(const Call& call, const FileIdentity& file) noexcept
    : uses_(call.kind == CallKind::read || call.kind == CallKind::write ? &position_of(file) : nullptr) {
  if (uses_ != nullptr) {
    uses_->fetch_add(1, std::memory_order_relaxed);
  }
}

PositionUse::~PositionUse() {
  if (uses_ != nullptr) {
    uses_->fetch_sub(1, std::memory_order_relaxed);
  }
}

bool position_in_use(const FileIdentity& file) noexcept {
  return position_of(file).load(std::memory_order_relaxed) != 0;
}

std::int64_t pause_for(const Call& call, const FileIdentity& file) {
  static_assert(offsetof(PausedCall, work) == 0);
  PausedCall paused;
  paused.work.run = make_call;
  paused.call = &call;
  paused.file = file;
  paused.task = tasking::current_task();
  const TracedCall traced(call);
  const PositionUse position(call, file);
  tasking::prepare_pause(paused.task);
  tasking::post_blocking(*tasking::current_runtime(), &paused.work);
  tasking::pause(paused.task, tasking::WaitReason::system_call, &paused);
  traced.ended(paused.result);
  return paused.result;
}

}  // namespace dovetail::storage
