// Where admission plugs into tasking: a ticket for each task that has a constraint or names a device.
#include <algorithm>
#include <cstdio>

#include "admission/alarm.hpp"
#include "admission/devices.hpp"
#include "admission/epoch.hpp"
#include "admission/observed_thread.hpp"
#include "base/spin_lock.hpp"
#include "dovetail/task.hpp"
#include "tasking/gate.hpp"

namespace dovetail::admission {
namespace {

using detail::RuntimeCore;
using detail::Task;

class AdmissionTicket final : public tasking::Ticket, public Request {
 public:
  AdmissionTicket(Task* task, SharedDevice& device, bool guest) : task_(task), device_(device), guest_(guest) {}

  bool enter() noexcept override;
  void started() noexcept override;
  void leave(bool failed) noexcept override;
  std::string waits_for() const override { return device_.budget().waits_for(*this); }

  /// What its body does now. On any thread, while it is inside.
  Activity activity() const noexcept;
  Task* task() const noexcept { return task_; }
  SharedDevice& device() const noexcept { return device_; }

 private:
  Outcome outcome(bool failed) const noexcept;

  Task* const task_;
  SharedDevice& device_;
  /// Its parent is on the device and waits for it: it runs in the parent's share, or both would wait for ever.
  const bool guest_;
  /// The thread that runs the body, and what it had transferred before.
  struct Run {
    std::shared_ptr<const ObservedThread> thread;
    std::optional<std::uint64_t> bytes_before;

    std::optional<std::uint64_t> transferred() const noexcept;
  };
  Run run() const noexcept;

  mutable base::SpinLock lock_;  ///< A retry may begin while somebody looks.
  Run run_;
};

AdmissionTicket& ticket_of(Request& request) noexcept { return static_cast<AdmissionTicket&>(request); }

// `list` has been announced. A request may be gone as soon as its task has passed.
void pass_all(RequestList& list) noexcept {
  while (Request* request = list.take()) {
    tasking::pass(ticket_of(*request).task());
  }
}

const Requester requester{
    .leaving = [](Request& request) noexcept { tasking::announce(ticket_of(request).task()); },
    .activity = [](const Request& request) noexcept { return static_cast<const AdmissionTicket&>(request).activity(); },
    .wants_to_be_asked =
        [](Request& request, double seconds) noexcept {
          return call_later(seconds, [&device = ticket_of(request).device()] {
            RequestList admitted;
            device.budget().ask_again(seconds_now(), admitted);
            pass_all(admitted);
          });
        },
};

bool AdmissionTicket::enter() noexcept {
  if (guest_) {
    return true;
  }
  RequestList admitted;
  if (!device_.budget().enter(*this, seconds_now(), admitted, [this] { return tasking::must_not_run(task_); })) {
    return true;  // cancelled: it completes without having run
  }
  pass_all(admitted);
  return false;
}

void AdmissionTicket::started() noexcept {
  const auto& thread = ObservedThread::self();
  Run run{thread, thread->transferred_bytes()};
  std::lock_guard lock(lock_);
  run_ = std::move(run);
}

AdmissionTicket::Run AdmissionTicket::run() const noexcept {
  std::lock_guard lock(lock_);
  return run_;
}

// Less than this is not what an I/O task is for: a message, or the start of a program that does the transfer.
constexpr std::uint64_t least_transfer = 4096;

// What it had others do for it (other threads, processes, an engine) does not show.
std::optional<std::uint64_t> AdmissionTicket::Run::transferred() const noexcept {
  const auto now = thread != nullptr && bytes_before ? thread->transferred_bytes() : std::nullopt;
  return now && *now >= *bytes_before + least_transfer ? std::optional(*now - *bytes_before) : std::nullopt;
}

// Before its thread has it, it does nothing; behind its body, it does what other tasks do on that thread.
Activity AdmissionTicket::activity() const noexcept {
  const Run seen = run();
  switch (seen.thread != nullptr ? seen.thread->state() : ObservedThread::State::waits) {
    case ObservedThread::State::runs:
      return Activity::computes;
    case ObservedThread::State::in_device_call:
      return Activity::uses_device;
    default:
      return seen.transferred() ? Activity::has_transferred : Activity::waits;
  }
}

// Known if the task began and ended on one thread, and the kernel counts.
Outcome AdmissionTicket::outcome(bool failed) const noexcept {
  const auto bytes = run_.thread == ObservedThread::self() ? run_.transferred() : std::nullopt;
  return {failed, bytes.has_value(), bytes.value_or(0)};
}

void AdmissionTicket::leave(bool failed) noexcept {
  if (place != Place::inside) {
    return;  // it was cancelled before, or is a guest
  }
  RequestList admitted;
  const bool found = device_.budget().leave(*this, outcome(failed), seconds_now(), admitted);
  pass_all(admitted);
  if (found) {
    device_.remember();
  }
}

Direction direction_of(const TaskDescription& description) noexcept {
  const auto is_file = [](const Access& access) { return access.region.space != 0; };
  const auto reads = [&](const Access& access) { return !is_file(access) || access.mode == AccessMode::in; };
  const AccessList& list = description.access;
  return std::any_of(list.begin(), list.end(), is_file) && std::all_of(list.begin(), list.end(), reads)
             ? Direction::read
             : Direction::write;
}

class AdmissionGate final : public tasking::Gate {
 public:
  std::unique_ptr<tasking::Ticket> describe(Task* task, const TaskDescription& description) override;
  void cancelled(const RuntimeCore* core) noexcept override;
  bool held_elsewhere(const RuntimeCore& core) const noexcept override;
};

// What is asked for is more than there is. It need not be an error, and with a device that was measured it should not be one: the task
// has the device to itself.
void warn_of_excess(const Budget::Names& names, double asked, double bandwidth, const std::string& device) {
  if (asked > bandwidth) {
    std::fprintf(
        stderr, "dovetail: task type '%s' asks for %g MB/s of device '%s', which has %g: its tasks run one at a time\n",
        names.label.c_str(), asked, device.c_str(), bandwidth);
  }
}

// I/O executors as `auto` counts them where nobody has said how many there are. The default is made for whatever blocks, and a device
// may do badly with so many at once. Twice the workers is twice the writers that the program would have without I/O tasks.
unsigned starting_executors(const Options& options) noexcept {
  constexpr unsigned by_default = 64;
  constexpr unsigned least = 4;
  return options.io_executors != by_default ? options.io_executors : std::max(least, 2 * options.workers);
}

SharedDevice* device_of(const Options& options, const TaskDescription& description) {
  return description.device == unknown_device && !description.storage_bw.constrained()
             ? Devices::unknown(description.label)
             : &Devices::of(options.config).find(description.device);
}

std::unique_ptr<tasking::Ticket> AdmissionGate::describe(Task* task, const TaskDescription& description) {
  const Options& options = tasking::options_of(task);
  SharedDevice* const found = device_of(options, description);
  if (found == nullptr) {
    return nullptr;
  }
  SharedDevice& device = *found;
  Budget& budget = device.budget();
  // The parent is the task that spawns this one, so that nobody changes it meanwhile.
  const auto* const above =
      task->parent->extra != nullptr ? static_cast<const AdmissionTicket*>(task->parent->extra->ticket.get()) : nullptr;
  const bool guest = task->parent != tasking::root_of(task) && above != nullptr && &above->device() == &device;
  auto ticket = std::make_unique<AdmissionTicket>(task, device, guest);
  const Budget::Names names{std::string(description.label.empty() ? "unnamed task" : description.label),
                            description.storage_bw, direction_of(description)};
  const auto kind = description.storage_bw.kind();
  double bandwidth = device.known_bandwidth(names.direction);
  const bool known = budget.has_type(names);
  if (!known && (kind == StorageBandwidth::Kind::fixed || kind == StorageBandwidth::Kind::automatic ||
                 kind == StorageBandwidth::Kind::bounded)) {
    bandwidth = device.bandwidth(names.direction);
    warn_of_excess(names, description.storage_bw.minimum(), bandwidth, budget.name());
  }
  budget.set_requester(&requester);
  ticket->type = &budget.type(names, bandwidth, options.io_executors, starting_executors(options));
  if (!known && kind == StorageBandwidth::Kind::adaptive) {
    device.recall();
  }
  ticket->owner = tasking::core_of(task);
  ticket->priority = description.priority;
  return ticket;
}

void AdmissionGate::cancelled(const RuntimeCore* core) noexcept {
  Devices::for_each([core](SharedDevice& device) {
    RequestList withdrawn;
    RequestList admitted;
    device.budget().withdraw(
        [core](const Request& request) {
          return request.owner == core && tasking::must_not_run(static_cast<const AdmissionTicket&>(request).task());
        },
        seconds_now(), withdrawn, admitted);
    pass_all(withdrawn);
    pass_all(admitted);
  });
}

bool AdmissionGate::held_elsewhere(const RuntimeCore& core) const noexcept {
  bool held = false;
  Devices::for_each([&](SharedDevice& device) { held = held || device.budget().held_elsewhere(&core); });
  return held;
}

const bool registered = tasking::register_gate(new AdmissionGate);

}  // namespace
}  // namespace dovetail::admission
