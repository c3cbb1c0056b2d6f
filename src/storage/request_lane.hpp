// The queue of one runtime for the requests of one kind on one device. Keeps back those beyond what the device should be given at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

using device::Route;

/// Thread-safe. While none is kept, a request enters and leaves without a lock.
///
/// Of the requests that are kept, those of the program start first, then those of a drain, then those of a prefetch; how far the last may fall
/// behind, `base::UrgencyQueue` says. A request of the program that finds the queue full of others waits for one of them to end.
class RequestLane {
 public:
  /// @param forced  The only way, for an engine that was asked for; else what the device has found for this kind of requests.
  RequestLane(Device& device, std::uint8_t lane, std::optional<Route> forced);

  /// What `enter` did with a request: it may start now, by the way noted in it; it is kept; it was given up already.
  enum class Entry : std::uint8_t { start, kept, cancelled };
  Entry enter(Request& request);
  /// Takes out those of the kept ones that were given up.
  RequestQueue take_cancelled();
  /// The request has ended. Returns those that may start now.
  RequestQueue leave(const Request& request);
  Route route() const noexcept;

 private:
  // Two counts in one word: the low half counts requests in flight, the high half those that are kept.
  using RequestCounts = std::uint64_t;
  static constexpr RequestCounts one_in_flight = 1;
  static constexpr RequestCounts one_kept = RequestCounts{1} << 32;
  static constexpr std::uint32_t in_flight(RequestCounts counts) noexcept { return static_cast<std::uint32_t>(counts); }
  static constexpr std::uint32_t kept(RequestCounts counts) noexcept {
    return static_cast<std::uint32_t>(counts >> 32);
  }

  bool has_room(RequestCounts counts) const noexcept;
  bool keeps_none_and_admits(RequestCounts& counts) noexcept;
  void admit(Request& request) noexcept;
  bool admits_kept() noexcept REQUIRES(mutex_);

  Device& device_;
  const std::optional<Route> forced_;
  device::RequestLevel& level_;
  // In one word, so that a thread that keeps a request and one that ends the last before it cannot miss each other. While any is kept, some
  // are in flight, and each of those looks for kept ones when it leaves. Only the holder of the mutex changes how many are kept.
  std::atomic<RequestCounts> counts_{0};
  base::Mutex mutex_;
  base::UrgencyQueue<Request> waiting_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::storage
