#include "background.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "deferred_file.hpp"
#include "dovetail/runtime.hpp"
#include "settings.hpp"

namespace dovetail::hdf5 {
namespace {

// Few: they move bytes between memory and files, and the cores are the program's. More than one, so that files do not wait for
// each other.
constexpr unsigned movers = 4;

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
                   self.runtime_ = nullptr;
                   self.changed_ = new std::condition_variable_any;
                   self.waiting_ = 0;
                   self.pool.forget_taken();
                   self.report = Report{};
                   self.failures = 0;
                 });
  // HDF5 does not close what is open at the end if the program told it not to; what was written must be in the files all the same.
  std::atexit([] { instance().drain(Cause::exit); });
}

Runtime* Background::runtime() {
  const Lock lock(mutex);
  if (runtime_ != nullptr || refused_) {
    return runtime_;
  }
  try {
    const WithoutSignals quiet;
    // No engine is asked: an I/O task blocks in the call itself.
    runtime_ = new Runtime(Options{
        .workers = 1, .io_executors = movers, .engine = "threads", .stuck_after = std::chrono::milliseconds(0)});
  } catch (const std::exception& error) {
    refused_ = true;
    std::fprintf(stderr, "dovetail: HDF5 files are written in the foreground: %s\n", error.what());
  }
  return runtime_;
}

bool Background::spawn(const std::string& label, std::function<void()> body) noexcept {
  try {
    Runtime* const here = runtime();
    if (here == nullptr) {
      return false;
    }
    const WithoutSignals quiet;  // a thread may be made for it
    here->spawn({.label = label, .io = true, .on_failure = ignore_failure}, std::move(body));
    return true;
  } catch (const std::exception&) {
    return false;
  }
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

void Background::rest() noexcept {
  Runtime* ended = nullptr;
  {
    const Lock lock(mutex);
    if (files.empty()) {
      ended = std::exchange(runtime_, nullptr);
    }
  }
  delete ended;
}

}  // namespace dovetail::hdf5
