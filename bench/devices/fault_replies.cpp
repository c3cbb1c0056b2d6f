#include "fault_replies.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace dovetail::devices {
namespace {

constexpr Clock::time_point end_of_time = Clock::time_point::max();

/// Whether the thread has a signal to handle. The kernel interrupts requests also for work of its own (io_uring's), on
/// which a disk would not fall short.
bool has_signal(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  std::uint64_t pending = 0;
  std::uint64_t blocked = 0;
  for (std::string line; std::getline(status, line);) {
    const std::string name = line.substr(0, 7);
    if (name == "SigPnd:" || name == "ShdPnd:") {
      pending |= std::stoull(line.substr(7), nullptr, 16);
    } else if (name == "SigBlk:") {
      blocked = std::stoull(line.substr(7), nullptr, 16);
    }
  }
  return (pending & ~blocked) != 0;
}

}  // namespace

FaultReplies::FaultReplies(fuse_interrupt_func_t on_interrupt)
    : interrupted_(on_interrupt), thread_([this] { run(); }) {}

FaultReplies::~FaultReplies() { stop(); }

void FaultReplies::give(fuse_req_t request, const Verdict& verdict, Reply reply) {
  if (!verdict.hold && verdict.due <= Clock::now()) {
    reply();
    return;
  }
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_number_++;
  const bool held = verdict.hold && verdict.releases >= releases_;
  due_times_.emplace(number, Due{held ? end_of_time : verdict.due, verdict.releases});
  lock.unlock();
  // Before the answer can be given, which ends the request; an interruption may come out of this very call.
  fuse_req_interrupt_func(request, interrupted_, reinterpret_cast<void*>(number));
  lock.lock();
  waiting_.emplace(Key{due_times_.at(number).time, number}, std::move(reply));
  most_waiting_ = std::max(most_waiting_, waiting_.size());
  std::vector<Reply> reached;
  std::erase_if(watchers_, [&](auto& entry) {
    if (entry.second.count > waiting_.size()) {
      return false;
    }
    reached.push_back(std::move(entry.second.reached));
    return true;
  });
  lock.unlock();
  changed_.notify_one();
  for (const Reply& watcher : reached) {
    watcher();
  }
}

void FaultReplies::interrupted(fuse_req_t request, void* data) {
  if (has_signal(fuse_req_ctx(request)->pid)) {
    hasten(reinterpret_cast<std::uintptr_t>(data));
  }
}

void FaultReplies::hasten(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  new_watchers_.erase(number);
  if (auto watcher = watchers_.extract(number)) {
    due_times_.emplace(number, Due{Clock::time_point::min(), 0});
    waiting_.emplace(Key{Clock::time_point::min(), number}, std::move(watcher.mapped().abandoned));
    changed_.notify_one();
    return;
  }
  const auto position = due_times_.find(number);
  if (position == due_times_.end()) {
    return;
  }
  auto node = waiting_.extract(Key{position->second.time, number});
  position->second.time = Clock::time_point::min();
  if (!node.empty()) {
    node.key().first = position->second.time;
    waiting_.insert(std::move(node));
    changed_.notify_one();
  }
}

void FaultReplies::release_held(std::uint64_t releases) {
  const std::lock_guard lock(mutex_);
  releases_ = std::max(releases_, releases);
  const auto now = Clock::now();
  for (auto& [number, due] : due_times_) {
    if (due.time == end_of_time && due.releases < releases_) {
      auto node = waiting_.extract(Key{due.time, number});
      due.time = now;
      if (!node.empty()) {
        node.key().first = now;
        waiting_.insert(std::move(node));
      }
    }
  }
  changed_.notify_one();
}

void FaultReplies::when_waiting(fuse_req_t request, std::size_t count, Reply reached, Reply abandoned) {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_number_++;
  new_watchers_.insert(number);
  lock.unlock();
  fuse_req_interrupt_func(request, interrupted_, reinterpret_cast<void*>(number));
  lock.lock();
  const bool hastened = new_watchers_.erase(number) == 0;
  if (!hastened && waiting_.size() < count) {
    watchers_.emplace(number, Watcher{count, std::move(reached), std::move(abandoned)});
    return;
  }
  lock.unlock();
  hastened ? abandoned() : reached();
}

void FaultReplies::stop() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  for (const auto& [number, watcher] : watchers_) {
    watcher.abandoned();
  }
  watchers_.clear();
}

std::string FaultReplies::describe() const {
  const std::lock_guard lock(mutex_);
  return "# waiting=" + std::to_string(waiting_.size()) + " most_waiting=" + std::to_string(most_waiting_) + "\n";
}

void FaultReplies::run() {
  // Signals are to interrupt the main thread, which waits for them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!stopping_ || !waiting_.empty()) {
    const auto due = waiting_.empty() ? end_of_time : waiting_.begin()->first.first;
    if (stopping_ || due <= Clock::now()) {
      const auto node = waiting_.extract(waiting_.begin());
      due_times_.erase(node.key().second);
      lock.unlock();
      node.mapped()();
      lock.lock();
    } else if (due == end_of_time) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, due);
    }
  }
}

}  // namespace dovetail::devices
