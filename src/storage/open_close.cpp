#include "storage/open_close.hpp"

#include <cerrno>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include "dovetail/failure.hpp"
#include "storage/perform.hpp"
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

}  // namespace

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
    perform_here([&] { check(file->close()); });
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
