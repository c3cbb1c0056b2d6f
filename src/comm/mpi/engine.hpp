// The messages of one runtime: starts what tasks want, asks the MPI library what has ended, and tells the tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/clock.hpp"
#include "comm/mpi/attempts.hpp"
#include "comm/mpi/outstanding.hpp"
#include "comm/mpi/pace.hpp"
#include "comm/mpi/turn.hpp"
#include "tasking/linger.hpp"
#include "tasking/service.hpp"
#include "tasking/source_registry.hpp"

namespace dovetail::comm::mpi {

class Library;

/// Made with each runtime; costs nothing before its first operation. Thread-safe.
class Engine final : public tasking::Service, public tasking::Source {
 public:
  explicit Engine(detail::RuntimeCore& core);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// That of the task's runtime.
  static Engine& of(const Task* task) noexcept;

  /// Takes over `count` operations, which are linked by `next` and are started in this order, after all that this thread has submitted
  /// before. The tasks that wait for them may be told before this returns.
  void submit(Operation* operations, std::size_t count, Library& library) noexcept;
  /// The same for one that has not been started; returns when it is. What the calling thread does next, such as a call of MPI or freeing a data
  /// type, comes after it.
  void submit_and_start(Operation* operation, Library& library) noexcept;
  /// Starts the operations that other threads have submitted, if this thread gets the turn. A thread that has given the turn back calls it: others that found the
  /// turn taken have left their operations to it. @returns how many operations were told.
  unsigned serve(Library& library) noexcept;

  /// @name Service
  /// @{
  unsigned poll(unsigned worker, tasking::PollScope scope) override;
  std::chrono::nanoseconds poll_interval() const noexcept override;
  bool on_demand() const noexcept override { return true; }
  std::chrono::nanoseconds linger() noexcept override;
  void lingered(bool found) noexcept override { linger_.ended(found); }
  bool is_moving() noexcept override {
    return is_moving_.load(std::memory_order_relaxed) && is_moving_.exchange(false, std::memory_order_relaxed);
  }
  void flush(unsigned /*worker*/) override {}
  std::size_t in_flight() const noexcept override { return in_flight_.load(std::memory_order_seq_cst); }
  bool has_in_flight(unsigned /*worker*/) const noexcept override { return false; }  // any worker delivers
  bool ends_elsewhere() const noexcept override { return true; }
  bool lives_here() const noexcept override;
  base::TimePoint next_poll() noexcept override;
  /// @}

  /// @name Source
  /// @{
  bool for_each_wait(const tasking::VisitWait& visit) const override;
  bool has_pending() const noexcept override { return in_flight() > 0; }
  void runtime_ends() noexcept override {}
  /// @}

 private:
  static bool try_enter() noexcept;
  void polled_here(bool found) noexcept;
  void start_elsewhere(Operation* operation, Library& library) noexcept;
  Operation* take_in(Library& library) noexcept;
  Operation* ask_newest(Library& library) noexcept;
  unsigned tell(Operation* ended) noexcept;
  static void forget_after_fork() noexcept;

  detail::RuntimeCore& core_;
  const std::shared_ptr<tasking::SourceRegistry> sources_;  ///< Which a runtime that could not be made destroys first.
  std::atomic<std::size_t> in_flight_{0};
  Turn turn_;
  Outstanding outstanding_;  ///< For the thread that has the turn; and so is what follows.
  Attempts attempts_;
  std::size_t unasked_ = 0;      ///< Newest ones, of which MPI has not been asked since they were started.
  bool is_task_paused_ = false;  ///< For one of these.
  Interval interval_;
  Movement movement_;
  std::chrono::nanoseconds woken_at_{0};  ///< In processor time of the thread that keeps time.
  std::atomic<bool> is_moving_{false};
  tasking::Linger linger_;
  /// @name Of the one thread that may call MPI, where it is one
  /// @{
  base::TimePoint polled_at_{};
  base::TimePoint lingers_until_{};
  bool lingers_ = false;
  /// @}
};

}  // namespace dovetail::comm::mpi
