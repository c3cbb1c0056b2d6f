/// @file
/// Shows how far a run has come: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace heat {

/// Counts from any thread, and shows on standard error from a thread of its own until it is destroyed.
class Progress {
 public:
  /// `total` is what `add` will amount to. `note` gives some words to append and is called from the thread that shows.
  Progress(bool shown, std::uint64_t total, std::function<std::string()> note);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more unit is done.
  void add() noexcept { done_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void show_until_stopped();
  int percent() const noexcept;
  void show_once(bool terminal) const;

  std::atomic<std::uint64_t> done_{0};
  std::uint64_t total_;
  std::function<std::string()> note_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace heat
