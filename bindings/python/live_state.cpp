#include "live_state.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>

#include "base/mutex.hpp"
#include "base/without_signals.hpp"
#include "counts.hpp"
#include "dovetail/admission.hpp"

namespace dovetail::python {
namespace {

using nlohmann::json;

constexpr int most_waiting_readers = 4;
constexpr timeval longest_send{.tv_sec = 5,
                               .tv_usec = 0};  // a reader that takes nothing must not keep others from asking
constexpr std::chrono::seconds until_descriptors_may_be_free(1);

std::atomic<int> workers{0};

class Answering {
 public:
  void begin() {
    const base::LockGuard lock(mutex_);
    if (listener_ >= 0) {
      return;
    }
    begun_ = std::chrono::steady_clock::now();
    user_ = getuid();
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) {
      return;
    }
    // The zero before it makes it a name of the kernel, and no path.
    const std::string name = "dovetail-program-" + std::to_string(user_) + "-" + std::to_string(getpid());
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        listen(listener, most_waiting_readers) != 0 || fstat(listener, &identity_) != 0) {
      close(listener);
      return;
    }
    listener_ = listener;
    try {
      const base::WithoutSignals without_signals;
      std::thread([this, listener] { serve(listener); }).detach();
    } catch (const std::system_error&) {
      close(listener);
      listener_ = -1;
    }
  }

  // A fork waits until no answer is being made: the thread is not in the child, and would keep what it has locked locked there.
  void before_fork() NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }
  void forget() NO_THREAD_SAFETY_ANALYSIS {
    if (listener_ >= 0 && is_ours(listener_)) {
      close(listener_);
    }
    listener_ = -1;
    workers = 0;
    forget_counts();
    mutex_.unlock();
  }

 private:
  // Programs close descriptors that they do not know, and then get the same numbers for others.
  bool is_ours(int listener) const {
    struct stat found{};
    return fstat(listener, &found) == 0 && found.st_dev == identity_.st_dev && found.st_ino == identity_.st_ino;
  }

  void serve(int listener) {
    while (is_ours(listener)) {
      const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0) {
        std::string text;
        try {
          text = is_for(connection) ? state() : "";
        } catch (const std::exception&) {
          text.clear();  // there is no memory for it: the reader gets nothing
        }
        send_all(connection, text);
        // A child that was forked meanwhile may have it, too: the reader would see no end of the text.
        shutdown(connection, SHUT_RDWR);
        close(connection);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        // The reader stays in the queue: asking again at once would keep a core busy.
        std::this_thread::sleep_for(until_descriptors_may_be_free);
      }
    }
  }

  bool is_for(int connection) const {
    ucred reader{};
    socklen_t size = sizeof reader;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &reader, &size) == 0 &&
           (reader.uid == user_ || reader.uid == getuid() || reader.uid == 0);
  }

  static void send_all(int connection, const std::string& text) {
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &longest_send, sizeof longest_send);
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t part = send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (part <= 0) {
        return;
      }
      sent += static_cast<std::size_t>(part);
    }
  }

  std::string state() {
    const base::LockGuard lock(mutex_);
    json types = json::array();
    for (const TaskType& type : task_types()) {
      types.push_back({{"label", type.label},
                       {"kind", type.kind},
                       {"made", type.made},
                       {"running", type.running},
                       {"completed", type.completed},
                       {"failed", type.failed}});
    }
    const json known = {{"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count()},
                        {"workers", workers_now()},
                        {"types", std::move(types)},
                        {"admission", json::parse(admission_report())}};
    return known.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  base::Mutex mutex_;
  int listener_ = -1;
  uid_t user_ = 0;
  struct stat identity_{};
  std::chrono::steady_clock::time_point begun_;
};

// Never destroyed: its thread ends with the process.
Answering& answering() {
  static auto* const made = [] {
    auto* const answering = new Answering;
    static Answering* const known = answering;
    pthread_atfork([] { known->before_fork(); }, [] { known->after_fork(); }, [] { known->forget(); });
    return answering;
  }();
  return *made;
}

}  // namespace

void tell_who_asks() { answering().begin(); }

void add_workers(int count) noexcept { workers += count; }

int workers_now() noexcept { return workers; }

}  // namespace dovetail::python
