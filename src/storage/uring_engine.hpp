// The engine of rings: one for each compute worker, made when the worker first needs it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "storage/engine.hpp"
#include "storage/parking.hpp"
#include "storage/ring.hpp"

namespace dovetail::storage {

class StorageService;

class UringEngine final : public Engine {
 public:
  UringEngine(StorageService& service, Parking& parking, unsigned workers);
  const char* name() const noexcept override { return "uring"; }

  /// Makes the ring of the calling worker if there is none. False where the system gives none; `why_not` then says why.
  bool prepare_worker(unsigned worker) noexcept { return rings_[worker] != nullptr || make_ring(worker); }
  std::string why_not() const;

  void submit(Request& request, int worker) noexcept override;
  bool serve_all_threads() const noexcept override { return false; }
  void flush(unsigned worker) noexcept override;
  unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override;

 private:
  bool make_ring(unsigned worker) noexcept;
  unsigned take(Ring& ring, unsigned worker, bool owner) noexcept;

  StorageService& service_;
  Parking& parking_;
  const unsigned workers_;
  std::unique_ptr<std::unique_ptr<Ring>[]> rings_;  // Each written by its worker; others see it through `parking_`.
  std::atomic<bool> refused_{false};
  mutable std::mutex mutex_;
  std::string why_not_;
};

}  // namespace dovetail::storage
