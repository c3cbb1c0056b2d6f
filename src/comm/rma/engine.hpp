// Notifications as events of tasks: the part of one runtime.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/fifo.hpp"
#include "comm/rma/pace.hpp"
#include "comm/rma/waiter.hpp"
#include "tasking/linger.hpp"
#include "tasking/service.hpp"
#include "tasking/source_registry.hpp"

namespace dovetail::comm::rma {

class Group;

/// Made with each runtime; costs nothing before its first wait. Thread-safe.
class Engine final : public tasking::Service, public tasking::Source {
 public:
  explicit Engine(detail::RuntimeCore& core);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// That of the task's runtime.
  static Engine& of(const Task* task) noexcept;

  /// Something of a task waits, and is told by `tell`.
  void begin() noexcept;
  /// What was begun has ended without being told.
  void withdraw() noexcept { in_flight_.fetch_sub(1, std::memory_order_seq_cst); }
  /// Tells what waited. Not under a lock: the program may go on at once. @returns How many tasks were told.
  static unsigned tell(base::Fifo<Waiter>& ended) noexcept { return ended.empty() ? 0 : tell_each(ended); }

  /// @name Service
  /// @{
  unsigned poll(unsigned worker, tasking::PollScope scope) override;
  std::chrono::nanoseconds poll_interval() const noexcept override { return interval_.now(); }
  int descriptor() const noexcept override;
  bool on_demand() const noexcept override { return true; }
  std::chrono::nanoseconds linger() noexcept override;
  void lingered(bool found) noexcept override { linger_.ended(found); }
  bool may_sleep() noexcept override;
  void flush(unsigned /*worker*/) override {}
  std::size_t in_flight() const noexcept override { return in_flight_.load(std::memory_order_seq_cst); }
  bool ends_elsewhere() const noexcept override { return true; }
  bool has_in_flight(unsigned /*worker*/) const noexcept override { return false; }  // any worker delivers
  /// @}

  /// @name Source
  /// @{
  bool for_each_wait(const tasking::VisitWait& visit) const override;
  bool has_pending() const noexcept override { return in_flight() > 0; }
  void runtime_ends() noexcept override {}
  /// @}

 private:
  static unsigned tell_each(base::Fifo<Waiter>& ended) noexcept;

  detail::RuntimeCore& core_;
  const std::shared_ptr<tasking::SourceRegistry> sources_;  ///< Which a runtime that could not be made destroys first.
  std::atomic<std::size_t> in_flight_{0};
  Interval interval_;
  tasking::Linger linger_;
};

}  // namespace dovetail::comm::rma
