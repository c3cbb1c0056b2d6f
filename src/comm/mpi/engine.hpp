// The messages of one runtime: starts what tasks want, asks the MPI library what has ended, and tells the tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "comm/mpi/attempts.hpp"
#include "comm/mpi/outstanding.hpp"
#include "comm/mpi/pace.hpp"
#include "comm/mpi/turn.hpp"
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
  /// before. Whoever waits for them may be told before this returns.
  void submit(Operation* operations, std::size_t count, Library& library) noexcept;
  /// The same for one that has not been started; returns when it is. What the calling thread does next, such as a call of MPI or freeing a data
  /// type, comes after it.
  void submit_and_start(Operation* operation, Library& library) noexcept;

  /// @name Service
  /// @{
  unsigned poll(unsigned worker, tasking::PollScope scope) override;
  std::chrono::nanoseconds poll_interval() const noexcept override { return interval_.now(); }
  bool on_demand() const noexcept override { return true; }
  std::chrono::nanoseconds linger() noexcept override;
  void lingered(bool found) noexcept override { linger_.ended(found); }
  void flush(unsigned /*worker*/) override {}
  std::size_t in_flight() const noexcept override { return in_flight_.load(std::memory_order_seq_cst); }
  bool has_in_flight(unsigned /*worker*/) const noexcept override { return false; }  // any worker delivers
  /// @}

  /// @name Source
  /// @{
  void for_each_wait(const std::function<void(const Task*, const std::string&)>& visit) const override;
  bool has_pending() const noexcept override { return in_flight() > 0; }
  void runtime_ends() noexcept override {}
  /// @}

 private:
  Operation* take_in(Library& library) noexcept;
  unsigned serve(Library& library) noexcept;
  unsigned tell(Operation* ended, const Library& library) noexcept;

  detail::RuntimeCore& core_;
  const std::shared_ptr<tasking::SourceRegistry> sources_;  ///< Which a runtime that could not be made destroys first.
  std::atomic<std::size_t> in_flight_{0};
  mutable Turn turn_;
  Outstanding outstanding_;  ///< For whoever has the turn; and so is what follows.
  Attempts attempts_;
  Interval interval_;
  Linger linger_;
};

}  // namespace dovetail::comm::mpi
