#include "background.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "deferred_file.hpp"
#include "dovetail/runtime.hpp"
#include "room.hpp"
#include "settings.hpp"
#include "trace/trace.hpp"

namespace dovetail::hdf5 {
namespace {

// Few: they move bytes between memory and files, and the cores are the program's. More than one, so that files do not wait for
// each other.
constexpr unsigned movers = 4;
// What has not been used for so long is given back.
constexpr std::chrono::seconds idle_time{1};

// The threads of the runtime shall take no signals of the program.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::uint64_t now() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

Background& Background::instance() {
  static auto* const made = new Background;
  return *made;
}

Background::Background() : pool(settings().buffer_bytes), changed_(new std::condition_variable_any) {
  // After that of `mutex`, so that the waiting here comes before all locks are taken for the fork.
  pthread_atfork([] { instance().drain(Cause::fork); }, nullptr,
                 [] {
                   Background& self = instance();
                   ++self.generation_;
                   // Its threads, and those that waited, are the parent's.
                   self.movers_ = {};
                   self.compressors_ = {};
                   self.changed_ = new std::condition_variable_any;
                   self.waiting_ = 0;
                   self.tidying_ = self.ending_ = false;
                   self.pool.forget_taken();
                   Room::forget_all();
                   self.report = Report{};
                   self.failures = 0;
                 });
  // HDF5 does not close what is open at the end if the program told it not to; what was written must be in the files all the same.
  std::atexit([] { instance().drain(Cause::exit); });
}

Runtime* Background::runtime_in(Place& place, const Options& options, const char* consequence) {
  const Lock lock(mutex);
  if (place.runtime != nullptr || place.refused) {
    return place.runtime;
  }
  try {
    const WithoutSignals quiet;
    place.runtime = new Runtime(options);
  } catch (const std::exception& error) {
    place.refused = true;
    std::fprintf(stderr, "dovetail: %s: %s\n", consequence, error.what());
  }
  return place.runtime;
}

bool Background::spawn_in(Place& place, const Options& options, const char* consequence, const TaskDescription& task,
                          std::function<void()> body) noexcept {
  try {
    Runtime* const here = runtime_in(place, options, consequence);
    if (here == nullptr) {
      return false;
    }
    const WithoutSignals quiet;  // a thread may be made for it
    here->spawn(task, std::move(body));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool Background::spawn(const std::string& label, std::function<void()> body) noexcept {
  // No engine is asked: an I/O task blocks in the call itself.
  return spawn_in(
      movers_,
      {.workers = 1, .io_executors = movers + 1, .engine = "threads", .stuck_after = std::chrono::milliseconds(0)},
      "HDF5 files are written in the foreground", {.label = label, .io = true, .on_failure = ignore_failure},
      std::move(body));
}

bool Background::spawn_computation(const std::string& label, std::function<void()> body) noexcept {
  return spawn_in(compressors_,
                  {.workers = settings().compression_threads,
                   .io_executors = 1,
                   .engine = "threads",
                   .stuck_after = std::chrono::milliseconds(0)},
                  "HDF5's chunks are compressed in the foreground", {.label = label, .on_failure = ignore_failure},
                  std::move(body));
}

void Background::hurry() noexcept {
  for (DeferredFile* file : files) {
    file->hurry();
  }
}

bool Background::wait_for(Lock& lock, std::uint64_t nanoseconds, const std::function<bool()>& ready) {
  constexpr std::uint64_t forever = std::uint64_t{1} << 60;  // 36 years
  if (nanoseconds >= forever) {
    wait(lock, Cause::request, ready);
    return true;
  }
  if (nanoseconds == 0 || ready()) {
    return ready();
  }
  const std::uint64_t begin = now();
  hurry();
  ++waiting_;
  const bool came = changed_->wait_for(lock, std::chrono::nanoseconds(nanoseconds), ready);
  --waiting_;
  report.waited[static_cast<std::size_t>(Cause::request)] += now() - begin;
  return came;
}

void Background::drain(Cause cause) noexcept {
  Lock lock(mutex);
  wait(lock, cause, [&] {
    return std::all_of(files.begin(), files.end(), [](const DeferredFile* file) { return file->settled(); });
  });
}

void Background::tidy_when_idle() noexcept {
  {
    const Lock lock(mutex);
    // On a timeline it would look like a transfer of a second.
    if (tidying_ || pool.kept() == 0 || trace::enabled()) {
      return;
    }
    tidying_ = true;
  }
  if (!spawn("HDF5: giving memory back", [this] { tidy(); })) {
    const Lock lock(mutex);
    tidying_ = false;
  }
}

void Background::tidy() noexcept {
  Lock lock(mutex);
  unsigned long before = 0;
  do {
    before = pool.activity();
    idle(lock, idle_time, [this] { return ending_; });
  } while (!ending_ && (pool.activity() != before || pool.taken() != 0));
  Room::rest_all();
  while (!ending_ && pool.kept() != 0) {
    pool.release_some();
    lock.unlock();  // somebody may be waiting for it
    lock.lock();
  }
  tidying_ = false;
}

void Background::rest() noexcept {
  std::array<Runtime*, 2> ended{};
  {
    const Lock lock(mutex);
    if (files.empty()) {
      ending_ = true;
      announce();
      ended = {std::exchange(movers_.runtime, nullptr), std::exchange(compressors_.runtime, nullptr)};
    }
  }
  for (const Runtime* runtime : ended) {
    delete runtime;
  }
  const Lock lock(mutex);
  ending_ = false;
}

}  // namespace dovetail::hdf5
