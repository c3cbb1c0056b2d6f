#include "storage/open_close.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include "base/descriptor.hpp"
#include "device/file_system.hpp"
#include "dovetail/failure.hpp"
#include "storage/perform.hpp"
#include "storage/waiter.hpp"
#include "storage/whole_path.hpp"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {
namespace {

// Work of an executor to which a task is bound. First in each kind, so that one pointer is as good as the other.
struct BoundWork {
  tasking::BlockingWork work;
  detail::Task* task = nullptr;
};

template <class Bound>
void run(tasking::BlockingWork* work) {
  static_assert(std::is_standard_layout_v<BoundWork>);
  const std::unique_ptr<Bound> bound(static_cast<Bound*>(reinterpret_cast<BoundWork*>(work)));
  std::exception_ptr cause;
  try {
    bound->perform();
  } catch (...) {
    cause = std::current_exception();
  }
  tasking::fulfill_event(bound->task, std::move(cause));
}

// In a place without workers: now, by the calling thread. A task fails by it no earlier than it completes, as on a worker.
template <class Action>
void perform_here(Action&& action) {
  try {
    action();
  } catch (const IoError&) {
    detail::Task* task = tasking::bind_event();
    if (task == nullptr) {
      throw;
    }
    tasking::fulfill_event(task, std::current_exception());
  }
}

struct BoundOpen : BoundWork {
  std::string path;
  int flags = 0;
  FileOptions options;
  File* opened = nullptr;
  void perform() {
    if (tasking::cancel_requested(task)) {
      throw IoError(ECANCELED, "open", path, 0, 0);
    }
    *opened = File::open(path, flags, options);
  }
};

struct BoundClose : BoundWork, OpenFile::Drained {
  std::shared_ptr<OpenFile> file;
  detail::RuntimeCore* core = nullptr;
  void perform() {
    if (const int error = file->close_descriptors()) {
      throw IoError(error, "close", file->path(), 0, 0);
    }
  }
};

void drained(OpenFile::Drained& self) noexcept {
  auto& bound = static_cast<BoundClose&>(self);
  tasking::post_blocking(*bound.core, &bound.work);
}

// The node of a block device lies in memory, what it stands for does not.
bool may_gain_by_direct(int descriptor, const struct stat& status) noexcept {
  if (S_ISBLK(status.st_mode)) {
    return true;
  }
  struct statfs information{};
  if (fstatfs(descriptor, &information) != 0) {
    return false;
  }
  return device::may_gain_by_direct(static_cast<unsigned long>(information.f_type));
}

}  // namespace

std::shared_ptr<OpenFile> open_file(const std::string& path, int flags, const FileOptions& options) {
  require_whole_path(path, "open");
  const bool demanded = options.direct == Direct::always || (flags & O_DIRECT) != 0;
  const int plain = (flags | O_CLOEXEC) & ~O_DIRECT;
  // The kernel appends wherever the request says: the unaligned head and tail, which go another way, would change places.
  const bool appends = (flags & O_APPEND) != 0;
  if (demanded && appends) {
    throw IoError(EINVAL, "open with O_APPEND past the page cache (use Direct::never or Direct::automatic)", path, 0,
                  0);
  }
  const Outcome opened = open_descriptor(path.c_str(), plain, options.mode);
  if (opened.error != 0) {
    fail_to_open(opened.error, path);
  }
  base::Descriptor cached(static_cast<int>(opened.bytes));
  struct stat status{};
  if (fstat(cached.get(), &status) != 0) {
    fail_to_open(errno, path);
  }
  const bool adaptive =
      !demanded && !appends && options.direct == Direct::adaptive && may_gain_by_direct(cached.get(), status);
  // To open a FIFO twice would give it another reader or writer.
  const bool stream = is_stream(cached.get(), status);
  if (demanded && stream) {
    throw IoError(EINVAL, "open past the page cache, which a pipe or terminal does not have (use Direct::never),", path,
                  0, 0);
  }
  const bool wanted = !stream && (demanded || (options.direct == Direct::automatic && !appends) || adaptive);
  int direct = -1;
  if (wanted) {
    // By way of the first descriptor, so that both surely lead to the same file and nothing is created or cut twice.
    const int again = (plain & ~creation_flags) | O_DIRECT;
    direct = ::open(link_to(cached.get()).c_str(), again);
    if (direct < 0 && (errno == ENOENT || errno == ELOOP)) {
      direct = ::open(path.c_str(), again);  // without /proc
    }
    if (direct < 0 && demanded) {
      fail_to_open(errno, path);
    }
  }
  return OpenFile::make(path, cached.release(), direct, flags, adaptive, status);
}

int close_file(OpenFile& file) {
  struct Closer : OpenFile::Drained {
    Waiter waiter;
    explicit Closer(bool may_pause) : waiter(may_pause) {
      tell = [](OpenFile::Drained& self) noexcept { static_cast<Closer&>(self).waiter.notify(); };
    }
  };
  if (file.closed()) {
    return EBADF;
  }
  Closer closer(can_pause());
  if (const int error = file.begin_close(closer)) {
    closer.waiter.notify();  // a pause that was announced has to come
    closer.waiter.wait(&file);
    return error;
  }
  closer.waiter.wait(&file);
  return file.close_descriptors();
}

void bind_open(const std::string& path, int flags, const FileOptions& options, File* opened) {
  if (!can_pause()) {
    perform_here([&] { *opened = File::open(path, flags, options); });
    return;
  }
  auto bound = std::make_unique<BoundOpen>();
  bound->path = path;
  bound->flags = flags;
  bound->options = options;
  bound->opened = opened;
  bound->work.run = run<BoundOpen>;
  bound->task = tasking::bind_event();
  tasking::post_blocking(*tasking::current_runtime(), &bound.release()->work);
}

void bind_close(const std::shared_ptr<OpenFile>& file) {
  const auto check = [&](int error) {
    if (error != 0) {
      throw IoError(error, "close", file->path(), 0, 0);
    }
  };
  if (!can_pause()) {
    perform_here([&] { check(close_file(*file)); });
    return;
  }
  auto bound = std::make_unique<BoundClose>();
  bound->tell = drained;
  bound->file = file;
  bound->core = tasking::current_runtime();
  bound->work.run = run<BoundClose>;
  bound->task = tasking::bind_event();
  BoundClose* const started = bound.release();  // it may be over before `begin_close` returns
  detail::Task* const task = started->task;
  if (file->begin_close(*started) != 0) {
    delete started;
    tasking::fulfill_event(task, std::make_exception_ptr(IoError(EBADF, "close", file->path(), 0, 0)));
  }
}

}  // namespace dovetail::storage
