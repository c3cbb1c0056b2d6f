// An engine that misbehaves as storage does: it wraps another one and shortens, fails, delays and reorders attempts, as a plan
// says.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "storage/storage_service.hpp"

namespace dovetail::test {

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
  virtual Fault next(const storage::Request& request) = 0;
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
  Fault next(const storage::Request& request) override;

 private:
  bool happens(double probability) REQUIRES(mutex_);

  base::Mutex mutex_;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  const Rates rates_;
};

class FaultEngine final : public storage::Engine {
 public:
  /// The next runtime has one around each of its engines.
  static void install(const std::shared_ptr<FaultPlan>& plan);

  FaultEngine(storage::Dispatcher& dispatcher, storage::Engine& inner, std::shared_ptr<FaultPlan> plan);
  /// Nothing may be in flight.
  ~FaultEngine() override;

  void submit(storage::Request& request, int worker) noexcept override;
  bool prepare(const storage::Request& request, unsigned worker) noexcept override {
    return inner_.prepare(request, worker);
  }
  void flush(unsigned worker) noexcept override { inner_.flush(worker); }
  void cancel(unsigned worker) noexcept override { inner_.cancel(worker); }
  unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override { return inner_.poll(worker, scope); }

 private:
  struct Held {
    storage::Request* request;
    int error;
    std::chrono::steady_clock::time_point due;
  };
  void run();

  storage::Dispatcher& dispatcher_;
  storage::Engine& inner_;
  const std::shared_ptr<FaultPlan> plan_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Held> held_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // A slow device of its own: it ends what was held, on no worker.
};

}  // namespace dovetail::test
