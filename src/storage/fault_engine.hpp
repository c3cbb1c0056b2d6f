// An engine that misbehaves as storage does: it wraps another one and shortens, fails, delays and reorders attempts, as a plan
// says. For tests of everything above the engines; installed by `StorageService::decorate`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "storage/engine.hpp"

namespace dovetail::storage {

class Dispatcher;

/// What is to happen to one attempt. Faults may be combined, save that an error excludes the rest.
struct Fault {
  int error = 0;                       ///< This errno instead of performing it.
  bool shorten = false;                ///< Only a part is transferred.
  std::chrono::microseconds delay{0};  ///< It ends so much later, out of order with others that are late.
};

/// Decides. Called from any thread.
class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  virtual Fault next(const Request& request) = 0;
};

/// Faults at random, repeatable by the seed as far as the order of requests is.
class RandomFaults final : public FaultPlan {
 public:
  /// Probabilities. `error` happens to transfers only.
  struct Rates {
    double error = 0;
    int error_number = 0;
    double shorten = 0;
    double interrupt = 0;  ///< EINTR or EAGAIN.
    double delay = 0;
    std::chrono::microseconds longest{500};
  };
  RandomFaults(std::uint64_t seed, const Rates& rates) : random_(seed), rates_(rates) {}
  Fault next(const Request& request) override;

 private:
  bool happens(double probability) REQUIRES(mutex_);

  base::Mutex mutex_;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  const Rates rates_;
};

class FaultEngine final : public Engine {
 public:
  FaultEngine(Dispatcher& dispatcher, Engine& inner, std::shared_ptr<FaultPlan> plan);
  /// Nothing may be in flight.
  ~FaultEngine() override;

  void submit(Request& request, int worker) noexcept override;
  bool prepare(const Request& request, unsigned worker) noexcept override { return inner_.prepare(request, worker); }
  void flush(unsigned worker) noexcept override { inner_.flush(worker); }
  void cancel(unsigned worker) noexcept override { inner_.cancel(worker); }
  unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override { return inner_.poll(worker, scope); }

 private:
  struct Held {
    Request* request;
    int error;
    std::chrono::steady_clock::time_point due;
  };
  void run();

  Dispatcher& dispatcher_;
  Engine& inner_;
  const std::shared_ptr<FaultPlan> plan_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Held> held_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // A slow device of its own: it ends what was held, on no worker.
};

}  // namespace dovetail::storage
