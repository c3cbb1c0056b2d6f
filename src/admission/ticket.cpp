// Where admission plugs into tasking: a ticket for each task that has a constraint or names a device.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "admission/devices.hpp"
#include "admission/epoch.hpp"
#include "admission/transferred_bytes.hpp"
#include "dovetail/task.hpp"
#include "tasking/gate.hpp"
#include "tasking/open_tasks.hpp"

namespace dovetail::admission {
namespace {

using detail::RuntimeCore;
using detail::Task;

class AdmissionTicket final : public tasking::Ticket, public Request {
 public:
  AdmissionTicket(Task* task, SharedDevice& device, bool guest) : task_(task), device_(device), guest_(guest) {}

  bool enter() noexcept override;
  void started() noexcept override;
  bool is_limited() const noexcept override { return guest_ || device_.budget().limits(*type); }
  void leave(bool failed) noexcept override;
  std::string waits_for() const override { return device_.budget().waits_for(*this); }

  Task* task() const noexcept { return task_; }
  SharedDevice& device() const noexcept { return device_; }

 private:
  Outcome outcome(bool failed) const noexcept;

  Task* const task_;
  SharedDevice& device_;
  /// Its parent is on the device and waits for it: it runs in the parent's share, or both would wait for ever.
  const bool guest_;
  /// The thread that runs the body, and what it had transferred before.
  std::uint64_t thread_ = 0;
  std::optional<std::uint64_t> bytes_before_;
};

// The system gives the identity of a thread that has ended to another one.
std::uint64_t this_thread() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  static thread_local const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

AdmissionTicket& ticket_of(Request& request) noexcept { return static_cast<AdmissionTicket&>(request); }

// `list` has been announced. A request may be gone as soon as its task has passed.
void pass_all(RequestList& list) noexcept {
  while (Request* request = list.take()) {
    tasking::pass(ticket_of(*request).task());
  }
}

const Requester requester{
    .leaving = [](Request& request) noexcept { tasking::announce(ticket_of(request).task()); },
};

bool AdmissionTicket::enter() noexcept {
  if (guest_ || !is_limited()) {
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
  if (place == Place::outside && !is_limited()) {
    device_.budget().count_in(*this, seconds_now());
  }
  thread_ = this_thread();
  bytes_before_ = transferred_bytes();
}

// Less than this is not what an I/O task is for: a message, or the start of a program that does the transfer.
constexpr std::uint64_t least_transfer = 4096;

// What it had others do for it (other threads, processes, an engine) does not show. Known if the task began and ended on one thread, and the
// kernel counts.
Outcome AdmissionTicket::outcome(bool failed) const noexcept {
  const auto now = thread_ == this_thread() && bytes_before_ ? transferred_bytes() : std::nullopt;
  const bool known = now && *now >= *bytes_before_ + least_transfer;
  return {failed, known, known ? *now - *bytes_before_ : 0};
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

std::unique_ptr<tasking::Ticket> AdmissionGate::describe(Task* task, const TaskDescription& description) {
  const Options& options = tasking::options_of(task);
  SharedDevice& device = Devices::of(options.config).find(description.device);
  Budget& budget = device.budget();
  // The parent is the task that spawns this one, so that nobody changes it meanwhile.
  const auto* const above =
      task->parent->extra != nullptr ? static_cast<const AdmissionTicket*>(task->parent->extra->ticket.get()) : nullptr;
  const bool guest =
      task->parent != tasking::root_of(task) && above != nullptr && &above->device() == &device && above->is_limited();
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
  ticket->type = &budget.type(names, bandwidth, options.io_executors, tasking::places_to_begin_with(options));
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
