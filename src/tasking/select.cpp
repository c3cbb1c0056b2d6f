#include "dovetail/select.hpp"

#include <poll.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "dovetail/failure.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/label.hpp"
#include "tasking/long_waits.hpp"
#include "tasking/pending_operation.hpp"
#include "tasking/selection.hpp"
#include "tasking/waiting.hpp"
#include "tasking/waiting_line.hpp"
#include "tasking/waiting_thread.hpp"

namespace dovetail {
namespace {

using tasking::Awaited;
using tasking::DescriptorWait;
using tasking::Selection;

std::string quoted_label(const detail::Task* task) { return "'" + std::string(task->label->text) + "'"; }

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace

namespace detail {

// One call of `select`: what it waits for, on the stack of the caller.
class Selecting {
 public:
  Selecting(std::span<const Alternative> alternatives, const WaitLimits& limits)
      : alternatives_(alternatives), limits_(limits), places_(alternatives.size()), task_(tasking::context().task) {}

  static std::optional<std::size_t> run(std::span<const Alternative> alternatives, const WaitLimits& limits) {
    Selecting selecting(alternatives, limits);
    if (const auto at_once = selecting.look()) {
      return at_once;
    }
    if (limits.at_most.count() <= 0 || limits.stop.stop_requested()) {
      return std::nullopt;
    }
    return selecting.wait();
  }
  static bool wait_for(Barrier& barrier, const WaitLimits& limits) {
    const Alternative alternative{Alternative::What(&barrier)};
    return Selecting({&alternative, 1}, limits).wait().has_value();
  }

 private:
  // What belongs to one alternative while it is waited for.
  struct Place {
    tasking::WaitNode* node = nullptr;
    Waiting waiting = {};
    bool entered = false;
    std::shared_ptr<DescriptorWait> descriptor = nullptr;
  };

  static Task* task_of(const FutureBase& future) {
    if (future.task_ == nullptr) {
      throw std::logic_error("select: a future has no task: it is default-constructed or was moved from");
    }
    return future.task_;
  }
  static PendingOperation::State& state_of(const PendingOperation& operation) {
    if (operation.state_ == nullptr) {
      throw std::logic_error("select: a PendingOperation is no operation");
    }
    return *operation.state_;
  }
  static IoError refused(const Alternative::Descriptor& descriptor, int error) {
    return {error, "select", "descriptor " + std::to_string(descriptor.number), 0, 0};
  }

  // Whether this has happened; for units, takes them.
  static bool has_happened(const FutureBase& future) { return tasking::has_completed(task_of(future)); }
  static bool has_happened(const Alternative::Units& units) { return units.semaphore->try_acquire(units.units); }
  static bool has_happened(const Latch* latch) { return latch->try_wait(); }
  static bool has_happened(const Barrier*) { return false; }
  static bool has_happened(const PendingOperation& operation) {
    PendingOperation::State& state = state_of(operation);
    const base::LockGuard lock(state.mutex);
    return state.ended;
  }
  static bool has_happened(const Alternative::Descriptor& descriptor) {
    pollfd asked{descriptor.number, static_cast<short>(descriptor.writable ? POLLOUT : POLLIN), 0};
    // One below zero is none that `poll` looks at.
    if (descriptor.number < 0 || (::poll(&asked, 1, 0) > 0 && (asked.revents & POLLNVAL) != 0)) {
      throw refused(descriptor, EBADF);
    }
    return asked.revents != 0;
  }
  // All are checked before the first has an effect.
  static void check(const FutureBase& future) {
    if (task_of(future) == tasking::context().task) {
      throw std::logic_error("select: task " + quoted_label(future.task_) + " waits for itself");
    }
  }
  static void check(const Alternative::Descriptor&) {
    if (tasking::context().task == nullptr) {
      throw std::logic_error("select: a descriptor is watched for a task, and this is none");
    }
  }
  static void check(const PendingOperation& operation) {
    PendingOperation::State& state = state_of(operation);
    const base::LockGuard lock(state.mutex);
    require_unawaited(state);
  }
  static void require_unawaited(const PendingOperation::State& state) REQUIRES(state.mutex) {
    if (state.is_awaited()) {
      throw std::logic_error("select: a task waits for " + state.what + " already");
    }
  }
  template <class Other>
  static void check(const Other&) {}

  std::optional<std::size_t> look() const {
    if (alternatives_.empty()) {
      throw std::invalid_argument("select: there is nothing to wait for");
    }
    for (const Alternative& alternative : alternatives_) {
      std::visit([](const auto& what) { check(what); }, alternative.what_);
    }
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      if (std::visit([](const auto& what) { return has_happened(what); }, alternatives_[i].what_)) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Has the selection ended when this happens. Returns whether it has happened just now and ended the selection here.
  bool enter(const FutureBase& future, Place& place, int number) {
    auto* const node = new tasking::WaitNode;
    node->target = task_of(future);
    node->callback = [selection = selection_, number] { selection->end(number); };
    if (!tasking::enlist(task_of(future)->waiters, node)) {
      delete node;
      return selection_->claim(number);
    }
    place.node = node;
    return false;
  }
  template <class Line>
  bool enter_line(Line& line, std::uint64_t units, Place& place, int number) noexcept {
    place.waiting.task = task_;
    place.waiting.units = units;
    place.waiting.selection = selection_.get();
    place.waiting.number = number;
    place.entered = true;
    return line.enter(place.waiting);
  }
  bool enter(const Alternative::Units& units, Place& place, int number) noexcept {
    return enter_line(*units.semaphore, units.units, place, number);
  }
  bool enter(Latch* latch, Place& place, int number) noexcept { return enter_line(*latch, 0, place, number); }
  bool enter(Barrier* barrier, Place& place, int number) noexcept { return enter_line(*barrier, 0, place, number); }
  bool enter(const PendingOperation& operation, Place& place, int number) {
    PendingOperation::State& state = state_of(operation);
    const base::LockGuard lock(state.mutex);
    require_unawaited(state);
    if (state.ended) {
      return selection_->claim(number);
    }
    state.selection = selection_;
    state.number = number;
    place.entered = true;
    return false;
  }
  bool enter(const Alternative::Descriptor& descriptor, Place& place, int number) {
    auto wait = std::make_shared<DescriptorWait>();
    wait->descriptor = descriptor.number;
    wait->events = descriptor.writable ? EPOLLOUT : EPOLLIN;
    wait->task = task_;
    wait->ready = [selection = selection_, number] { selection->end(number); };
    const int error = task_->core->reactor.watch(wait);
    if (error == EPERM) {
      return selection_->claim(number);  // a file: always ready
    }
    if (error != 0) {
      throw refused(descriptor, error);
    }
    place.descriptor = std::move(wait);
    return false;
  }

  void leave(const FutureBase& future, Place& place) noexcept {
    if (place.node == nullptr) {
      return;
    }
    if (tasking::withdraw(task_of(future)->waiters, place.node)) {
      place.node->release();  // the task's share
    }
    place.node->release();
  }
  static void leave(const Alternative::Units& units, Place& place) noexcept {
    if (place.entered) {
      units.semaphore->leave(place.waiting);
    }
  }
  template <class Line>
  static void leave(Line* line, Place& place) noexcept {
    if (place.entered) {
      line->leave(place.waiting);
    }
  }
  static void leave(const PendingOperation& operation, Place& place) noexcept {
    if (place.entered) {
      PendingOperation::State& state = *operation.state_;
      const base::LockGuard lock(state.mutex);
      state.selection = nullptr;
    }
  }
  void leave(const Alternative::Descriptor&, Place& place) noexcept {
    if (place.descriptor != nullptr) {
      task_->core->reactor.descriptors().end(place.descriptor, DescriptorWait::End::timed_out);
    }
  }

  static std::string describe(const FutureBase& future) { return "task " + quoted_label(future.task_); }
  static std::string describe(const Alternative::Units&) { return "a Semaphore or Mutex"; }
  static std::string describe(const Latch*) { return "a Latch"; }
  static std::string describe(const Barrier*) { return "a Barrier"; }
  static std::string describe(const PendingOperation& operation) { return operation.state_->description; }
  static std::string describe(const Alternative::Descriptor& descriptor) {
    return "descriptor " + std::to_string(descriptor.number) +
           (descriptor.writable ? " to be writable" : " to be readable");
  }
  std::string describe_all() const {
    std::string text = alternatives_.size() > 1 ? "the first of " : "";
    for (const Alternative& alternative : alternatives_) {
      text += (&alternative == alternatives_.data() ? "" : ", ") +
              std::visit([](const auto& what) { return describe(what); }, alternative.what_);
    }
    return text;
  }

  // The runtime whose tasks are all that can end the wait, or null.
  RuntimeCore* only_runtime() const noexcept {
    RuntimeCore* core = nullptr;
    if (limits_.stop.stop_possible()) {
      return nullptr;
    }
    for (const Alternative& alternative : alternatives_) {
      const auto* const future = std::get_if<FutureBase>(&alternative.what_);
      if (future == nullptr || (core != nullptr && core != future->task_->core)) {
        return nullptr;
      }
      core = future->task_->core;
    }
    return core;
  }

  Awaited awaited() const noexcept {
    const bool of_sources = std::ranges::any_of(alternatives_, [](const Alternative& alternative) {
      return std::holds_alternative<PendingOperation>(alternative.what_) ||
             std::holds_alternative<Alternative::Descriptor>(alternative.what_);
    });
    return of_sources ? Awaited::sources : Awaited::program;
  }

  // Where reports look for the selection, and which runtimes know that a thread waits for their tasks.
  class Known {
   public:
    explicit Known(Selecting& selecting) : selecting_(selecting), only_(selecting.only_runtime()) {
      for_each_awaited_core([](RuntimeCore& core) { core.require_usable(); });
      if (RuntimeCore* const core = registry()) {
        core->selections.add(*selecting.selection_, core == only_ ? Awaited::tasks : selecting.awaited());
      }
      for_each_awaited_core([](RuntimeCore& core) {
        core.foreign.waiting.fetch_add(1, std::memory_order_seq_cst);
        core.idle.wake_one();  // a thread waits now: being stuck matters
        tasking::expect_long_waits(core);
      });
    }
    ~Known() {
      if (RuntimeCore* const core = registry()) {
        core->selections.remove(*selecting_.selection_);
      }
      for_each_awaited_core([](RuntimeCore& core) { core.foreign.waiting.fetch_sub(1, std::memory_order_seq_cst); });
    }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    /// Which of them is stuck if the wait has ended by that.
    RuntimeCore* registry() const noexcept { return selecting_.task_ != nullptr ? selecting_.task_->core : only_; }

   private:
    // For a thread.
    template <class Visit>
    void for_each_awaited_core(const Visit& visit) const {
      if (selecting_.task_ != nullptr) {
        return;
      }
      for (const Alternative& alternative : selecting_.alternatives_) {
        if (const auto* const future = std::get_if<FutureBase>(&alternative.what_)) {
          visit(*future->task_->core);
        }
      }
    }
    Selecting& selecting_;
    RuntimeCore* const only_;
  };

  // Whether an alternative has ended the selection here, so that no task need be woken.
  bool enter_all() {
    for (std::size_t i = 0; i < alternatives_.size() && selection_->winner() == Selection::nothing; ++i) {
      const auto enter_this = [&](const auto& what) { return enter(what, places_[i], static_cast<int>(i)); };
      if (std::visit(enter_this, alternatives_[i].what_)) {
        return true;
      }
    }
    return false;
  }

  void leave_all() noexcept {
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      std::visit([&](const auto& what) { leave(what, places_[i]); }, alternatives_[i].what_);
    }
  }

  void pause_task() {
    struct Timer {
      tasking::Reactor& reactor;
      std::optional<tasking::Timers::Id> id;
      ~Timer() {
        if (id) {
          reactor.cancel(*id);
        }
      }
    } timer{task_->core->reactor, std::nullopt};
    if (limits_.at_most != std::chrono::nanoseconds::max()) {
      timer.id = timer.reactor.call_at(base::deadline_after(base::Clock::now(), limits_.at_most),
                                       [selection = selection_] { selection->end(Selection::timed_out); });
    }
    tasking::pause(task_, tasking::WaitReason::selection);
  }

  void block_thread(const Known& known) {
    const base::TimePoint deadline = limits_.at_most == std::chrono::nanoseconds::max()
                                         ? base::TimePoint::max()
                                         : base::deadline_after(base::Clock::now(), limits_.at_most);
    tasking::WaitingThread thread(known.registry());
    if (!selection_->block_until(deadline, &thread)) {
      if (!selection_->claim(Selection::given_up)) {
        give_back(selection_->winner());
      }
      throw tasking::WaitInterrupted();
    }
    if (selection_->winner() == Selection::stuck) {
      throw Stuck(known.registry()->stuck.report());
    }
  }

  // The units of the chosen alternative, since the caller will not hear of it.
  void give_back(int number) noexcept {
    if (number < 0) {
      return;
    }
    if (const auto* units = std::get_if<Alternative::Units>(&alternatives_[static_cast<std::size_t>(number)].what_)) {
      units->semaphore->release(units->units);
    }
  }

  std::optional<std::size_t> wait() {
    tasking::require_may_wait_for("the first of several things");
    selection_ = std::make_shared<Selection>(task_, &tasking::wake, [this] { return describe_all(); });
    const Known known(*this);
    const struct Leave {
      Selecting& selecting;
      ~Leave() { selecting.leave_all(); }
    } leave{*this};
    if (task_ != nullptr) {
      tasking::prepare_pause(task_);
    }
    bool chosen_here = false;
    try {
      chosen_here = enter_all();
    } catch (...) {
      if (selection_->claim(Selection::given_up)) {
        throw;
      }
      // Something else has happened first, and that is the answer.
    }
    if (!chosen_here) {
      const std::stop_callback stop(limits_.stop, [this] { selection_->end(Selection::stopped); });
      if (task_ != nullptr) {
        pause_task();
      } else {
        block_thread(known);
      }
    }
    const int winner = selection_->winner();
    return winner < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(winner));
  }

  const std::span<const Alternative> alternatives_;
  const WaitLimits& limits_;
  std::vector<Place> places_;
  Task* const task_;  ///< Null: a thread.
  std::shared_ptr<Selection> selection_;
};

}  // namespace detail

std::optional<std::size_t> select(std::span<const Alternative> alternatives, const WaitLimits& limits) {
  return detail::Selecting::run(alternatives, limits);
}

bool FutureBase::wait_for(std::chrono::nanoseconds at_most) const {
  return select({*this}, {.at_most = at_most}).has_value();
}

bool Semaphore::try_acquire_for(std::chrono::nanoseconds at_most, std::uint64_t units) {
  return select({{*this, units}}, {.at_most = at_most}).has_value();
}

bool Latch::wait_for(std::chrono::nanoseconds at_most) { return select({*this}, {.at_most = at_most}).has_value(); }

bool Barrier::arrive_and_wait_for(std::chrono::nanoseconds at_most) {
  return detail::Selecting::wait_for(*this, {.at_most = at_most});
}

bool PendingOperation::wait_for(std::chrono::nanoseconds at_most) {
  if (state_ != nullptr && tasking::current_task() == nullptr) {
    throw std::logic_error("PendingOperation::wait_for was called outside of a task");
  }
  if (at_most != std::chrono::nanoseconds::max() && !select({*this}, {.at_most = at_most})) {
    return false;
  }
  wait();  // if it has ended, returns at once, or throws its error
  return true;
}

}  // namespace dovetail
