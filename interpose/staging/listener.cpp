#include "listener.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/descriptor.hpp"
#include "base/mutex.hpp"
#include "base/without_signals.hpp"
#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

// Nothing else changes the times of a folder of a log so: what is made and removed in it is no change of its attributes.
constexpr std::uint32_t asked = IN_ATTRIB;

class Listener {
 public:
  Listener() : events_(::inotify_init1(IN_CLOEXEC)), is_open_(events_.get() >= 0) {
    if (is_open_) {
      const base::WithoutSignals quiet;
      std::thread([this] {
        thread_ = ::gettid();
        thread_.notify_all();
        run();
      }).detach();
      thread_.wait(0);
    }
  }

  bool listen(const std::string& folder, std::function<void()> wanted) {
    const base::LockGuard lock(mutex_);
    const int watch = !is_open_ ? -1 : ::inotify_add_watch(events_.get(), folder.c_str(), asked | IN_ONLYDIR);
    if (watch >= 0) {
      wanted_[watch] = std::move(wanted);
    }
    return watch >= 0;
  }
  pid_t thread() {
    const base::LockGuard lock(mutex_);
    return is_open_ ? thread_.load() : 0;
  }

 private:
  void run() {
    const Within within;
    alignas(inotify_event) std::array<std::byte, 4096> buffer{};
    for (;;) {
      const ssize_t bytes = libc::read(events_.get(), buffer.data(), buffer.size());
      if (bytes < 0 && errno != EINTR) {
        give_up_all_heard();  // the program has closed it by a call that is not seen
        return;
      }
      for (ssize_t at = 0; at < bytes;) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        at += static_cast<ssize_t>(sizeof event + event.len);
        hear(event);
      }
    }
  }

  void give_up_all_heard() {
    std::map<int, std::function<void()>> heard;
    {
      const base::LockGuard lock(mutex_);
      is_open_ = false;
      heard.swap(wanted_);
    }
    for (const auto& [watch, wanted] : heard) {
      wanted();
    }
  }

  void hear(const inotify_event& event) {
    std::function<void()> wanted;
    {
      const base::LockGuard lock(mutex_);
      const auto found = wanted_.find(event.wd);
      // Of the folder itself, not of a file in it.
      if (found != wanted_.end() && (event.mask & asked) != 0 && event.len == 0) {
        wanted = found->second;
      } else if (found != wanted_.end() && (event.mask & IN_IGNORED) != 0) {
        wanted_.erase(found);
      }
    }
    if (wanted) {
      wanted();
    }
  }

  const base::Descriptor events_;
  std::atomic<pid_t> thread_{0};  // its number, once it runs
  base::Mutex mutex_;
  bool is_open_ GUARDED_BY(mutex_);
  std::map<int, std::function<void()>> wanted_ GUARDED_BY(mutex_);
};

// Never destroyed: its thread is there until the process ends.
base::Mutex making;
constinit Listener* listener = nullptr;

Listener* current() REQUIRES(making) {
  if (listener == nullptr || listener->thread() == 0) {
    try {
      listener = new Listener;
    } catch (const std::system_error&) {
      return nullptr;
    }
  }
  return listener;
}

}  // namespace

pid_t listening_thread() {
  const base::LockGuard lock(making);
  return listener != nullptr ? listener->thread() : 0;
}

bool listen(const std::string& folder, std::function<void()> wanted) {
  const base::LockGuard lock(making);
  Listener* const found = current();
  return found != nullptr && found->listen(folder, std::move(wanted));
}

void forget_listener() {
  std::construct_at(&making);  // a thread that the child does not have may hold it
  listener = nullptr;
}

void ask(int folder) noexcept { libc::futimens(folder, nullptr); }

}  // namespace dovetail::interpose::staged
