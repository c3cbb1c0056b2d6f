// A device that does not answer until it is told to: stands behind any engine, and in place of it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/storage_service.hpp"
#include "storage/system_calls.hpp"
#include "support.hpp"

namespace dovetail::test {

/// What the device holds. One for all engines of a runtime.
class Held {
 public:
  /// Called with each attempt as it is submitted, held or not, by the submitting thread.
  using Notice = std::function<void(const storage::Request& request)>;
  /// The attempts of the next runtime are held. Returns what holds them.
  static std::shared_ptr<Held> install(Notice notice = {}) {
    auto held = std::make_shared<Held>();
    held->notice_ = std::move(notice);
    storage::StorageService::decorate_next = [held](storage::StorageService& service, storage::Engine& inner) {
      return std::make_unique<Holder>(service, inner, held);
    };
    return held;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }
  /// Returns when so many are held.
  void wait_for(std::size_t wanted) {
    while (count() < wanted) {
      std::this_thread::yield();
    }
  }
  /// From now on attempts are held, as they are at first.
  void hold() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  /// Lets those that are held end: performed, or with an error of the caller's choice. `go_on`: later ones are not held.
  void release(bool go_on, std::int64_t result = 0) {
    std::vector<std::pair<storage::StorageService*, storage::Request*>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(requests_);
      open_ = go_on;
    }
    for (const auto& [service, request] : all) {
      service->attempt_ended(*request, result != 0 ? result : storage::call_system(*request), -1);
    }
  }

  /// Ends the one that transfers at `offset` with `result`; it must be held.
  void end_at(std::uint64_t offset, std::int64_t result) {
    std::pair<storage::StorageService*, storage::Request*> found{};
    {
      const std::lock_guard lock(mutex_);
      const auto place = std::find_if(requests_.begin(), requests_.end(),
                                      [&](const auto& entry) { return entry.second->offset == offset; });
      ASSERT_NE(place, requests_.end()) << offset;
      found = *place;
      requests_.erase(place);
    }
    found.first->attempt_ended(*found.second, result, -1);
  }

 private:
  class Holder final : public storage::Engine {
   public:
    Holder(storage::StorageService& service, storage::Engine& inner, std::shared_ptr<Held> held)
        : service_(service), inner_(inner), held_(std::move(held)) {}
    bool prepare(const storage::Request& request, unsigned worker) noexcept override {
      return inner_.prepare(request, worker);
    }
    void submit(storage::Request& request, int worker) noexcept override {
      if (held_->notice_) {
        held_->notice_(request);
      }
      {
        const std::lock_guard lock(held_->mutex_);
        if (!held_->open_) {
          held_->requests_.emplace_back(&service_, &request);
          return;
        }
      }
      inner_.submit(request, worker);
    }
    void flush(unsigned worker) noexcept override { inner_.flush(worker); }
    unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override { return inner_.poll(worker, scope); }

   private:
    storage::StorageService& service_;
    storage::Engine& inner_;
    const std::shared_ptr<Held> held_;
  };

  Notice notice_;
  std::mutex mutex_;
  bool open_ = false;
  std::vector<std::pair<storage::StorageService*, storage::Request*>> requests_;
};

}  // namespace dovetail::test
