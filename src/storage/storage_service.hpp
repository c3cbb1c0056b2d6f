// What the storage room has for each runtime: its engines, the queues of its devices, and the sleep of its workers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/dispatcher.hpp"
#include "storage/known_folders.hpp"
#include "storage/parking.hpp"
#include "storage/queue_engine.hpp"
#include "storage/threads_engine.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {

class StorageService final : public tasking::Service, public Dispatcher {
 public:
  /// @throws std::invalid_argument for an unknown engine, or for `uring` or `aio` where there is none.
  StorageService(detail::RuntimeCore& core, const std::string& engine, unsigned workers);
  ~StorageService() override;

  /// The service of a runtime. Never null once the runtime has started.
  static StorageService* of(detail::RuntimeCore& core) noexcept;
  /// The service of the runtime that the calling thread is a compute worker of, and the number of that worker; null on other
  /// threads and in the child of a fork.
  struct Here {
    StorageService* service = nullptr;
    int worker = -1;
  };
  static Here here() noexcept;

  /// Of the worker that calls. Not thread-local: of that memory libraries which are loaded late have little.
  KnownFolders& known_folders(int worker) noexcept { return known_folders_[static_cast<std::size_t>(worker)]; }

  /// Tasks were cancelled: has their requests end early, where that is possible. From any thread.
  void cancel() noexcept;

  /// For tests: what the next service puts between its requests and each engine. It takes this.
  using Decorator = std::function<std::unique_ptr<Engine>(StorageService& service, Engine& inner)>;
  static inline Decorator decorate_next;

  /// Why requests go where they go: "auto", or the name of an engine with the reason.
  std::string why() const;

  void thread_started(int worker) override;
  void thread_stopping(int worker) override;
  unsigned poll(unsigned worker, tasking::PollScope scope) override;
  void flush(unsigned worker) override;
  std::size_t in_flight() const noexcept override { return requests_in_flight(); }
  bool has_in_flight(unsigned worker) const noexcept override;
  int descriptor() const noexcept override { return parking_.descriptor(); }
  bool parks() const noexcept override { return true; }
  void park(unsigned worker, std::chrono::steady_clock::time_point deadline) override {
    parking_.park(worker, deadline);
  }
  void unpark(unsigned worker) noexcept override { parking_.unpark(worker); }
  void busy(unsigned worker, bool busy) noexcept override { parking_.busy(worker, busy); }
  bool look_after() noexcept override { return parking_.look_after(); }

 private:
  Parking parking_;
  std::vector<KnownFolders> known_folders_;
  QueueEngine<Ring> uring_;
  QueueEngine<AioQueue> aio_;
  ThreadsEngine threads_;
  std::unique_ptr<Engine> decorations_[3];
};

}  // namespace dovetail::storage
