// Where admission plugs into tasking: a ticket for each task that has a constraint or names a device.
//
// A task with `io` runs on an executor's thread, one at a time there; an ordinary one is scheduled as any other once it has entered, and keeps its
// place while it is paused.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "admission/budgets.hpp"
#include "admission/epoch.hpp"
#include "admission/transferred_bytes.hpp"
#include "dovetail/task.hpp"
#include "tasking/gate.hpp"
#include "tasking/open_tasks.hpp"
#include "tasking/passing.hpp"

namespace dovetail::admission {
namespace {

using detail::RuntimeCore;
using detail::Task;

class AdmissionTicket final : public tasking::Ticket, public Candidate {
 public:
  /// @param host  The ticket of its parent, if that is on the device and waits for it. The task then runs in the parent's share, or both would wait
  ///              for ever. What it moves counts for the parent, too.
  AdmissionTicket(Task* task, DeviceBudget& device, TaskType& of, AdmissionTicket* host)
      : task_(task), device_(device), host_(host), limited_(host != nullptr || device.budget().limits(of)) {
    type = &of;
  }

  bool enter() noexcept override;
  void started() noexcept override;
  bool is_limited() const noexcept override { return limited_; }
  void leave(bool failed) noexcept override;
  std::string waits_for() const override { return device_.budget().waits_for(*this); }

  Task* task() const noexcept { return task_; }
  DeviceBudget& device() const noexcept { return device_; }

 private:
  TaskEnd end(bool failed) const noexcept;

  Task* const task_;
  DeviceBudget& device_;
  AdmissionTicket* const host_;
  const bool limited_;
  /// The executor's thread that runs the body, and what it had transferred before.
  std::uint64_t thread_ = 0;
  std::optional<std::uint64_t> bytes_before_;
};

// The system gives the identity of a thread that has ended to another one.
std::uint64_t this_thread() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  static thread_local const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

AdmissionTicket& ticket_of(Candidate& candidate) noexcept { return static_cast<AdmissionTicket&>(candidate); }

// The tasks of `list` have begun to pass. A candidate may be gone as soon as its task has passed.
void pass_all(CandidateList& list) noexcept {
  while (Candidate* candidate = list.pop()) {
    tasking::pass(ticket_of(*candidate).task());
  }
}

const CandidateOwner candidate_owner{
    .leaving = [](Candidate& candidate) noexcept { tasking::begin_passing(ticket_of(candidate).task()); },
};

bool AdmissionTicket::enter() noexcept {
  if (host_ != nullptr) {
    return true;
  }
  if (!is_limited()) {
    if (!task_->io) {
      device_.budget().count_in(*this, seconds_now());
    }
    return true;
  }
  CandidateList admitted;
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

// Less than this is not what a task on a device is for: a message, or the start of a program that does the transfer.
constexpr std::uint64_t least_transfer = 4096;

// Bytes that pass through Dovetail are counted where they move. Other transfers of a body on an executor are counted by the kernel, which sees
// all that this thread transfers. Transfers that others make for it (other threads and processes, `mmap`) are not seen.
TaskEnd AdmissionTicket::end(bool failed) const noexcept {
  const auto now = thread_ == this_thread() && bytes_before_ ? transferred_bytes() : std::nullopt;
  const std::uint64_t bytes = std::max(moved(), now ? *now - *bytes_before_ : 0);
  return {failed, bytes >= least_transfer, bytes};
}

void AdmissionTicket::leave(bool failed) noexcept {
  if (host_ != nullptr) {
    host_->count_moved(moved());  // it waits for this task
  }
  if (place != Place::inside) {
    return;  // it was cancelled before, or is a guest
  }
  CandidateList admitted;
  const bool found = device_.budget().leave(*this, end(failed), seconds_now(), admitted);
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

// The task asks for more than the device has. That need not be an error, and with a measured device it should not be one: the task has the
// device to itself.
void warn_of_excess(const Budget::Names& names, double asked, double bandwidth, const std::string& device) {
  if (asked > bandwidth) {
    std::fprintf(
        stderr, "dovetail: task type '%s' asks for %g MB/s of device '%s', which has %g: its tasks run one at a time\n",
        names.label.c_str(), asked, device.c_str(), bandwidth);
  }
}

std::unique_ptr<tasking::Ticket> AdmissionGate::describe(Task* task, const TaskDescription& description) {
  const Options& options = tasking::options_of(task);
  device::NamedDevice& named = device::Names::of(options.config).find(description.device);
  DeviceBudget& device = budget_of(named);
  Budget& budget = device.budget();
  // The parent is the task that spawns this one, so that no thread changes it meanwhile.
  auto* const above = task->parent != tasking::root_of(task)
                          ? static_cast<AdmissionTicket*>(tasking::ticket_of(task->parent))
                          : nullptr;
  const bool is_guest = above != nullptr && &above->device() == &device && above->is_limited();
  const Budget::Names names{std::string(description.label.empty() ? "unnamed task" : description.label),
                            description.storage_bw, direction_of(description), named.name()};
  const auto kind = description.storage_bw.kind();
  const bool needs_bandwidth = kind == StorageBandwidth::Kind::fixed || kind == StorageBandwidth::Kind::automatic ||
                               kind == StorageBandwidth::Kind::bounded;
  const bool known = budget.has_type(names);
  double bandwidth = 0;
  if (!known && needs_bandwidth) {
    bandwidth = named.bandwidth(names.direction);
    warn_of_excess(names, description.storage_bw.minimum(), bandwidth, named.name());
  } else if (!known) {
    bandwidth = named.known_bandwidth(names.direction);
  }
  budget.set_candidate_owner(&candidate_owner);
  TaskType& type = budget.type(names, bandwidth, options.io_executors, tasking::places_to_begin_with(options));
  if (!known && kind == StorageBandwidth::Kind::adaptive) {
    device.recall(named, names.direction);
  }
  auto ticket = std::make_unique<AdmissionTicket>(task, device, type, is_guest ? above : nullptr);
  ticket->owner = tasking::core_of(task);
  ticket->priority = description.priority;
  return ticket;
}

void AdmissionGate::cancelled(const RuntimeCore* core) noexcept {
  for_each_budget([core](DeviceBudget& device) {
    CandidateList withdrawn;
    CandidateList admitted;
    device.budget().withdraw(
        [core](const Candidate& candidate) {
          return candidate.owner == core &&
                 tasking::must_not_run(static_cast<const AdmissionTicket&>(candidate).task());
        },
        seconds_now(), withdrawn, admitted);
    pass_all(withdrawn);
    pass_all(admitted);
  });
}

bool AdmissionGate::held_elsewhere(const RuntimeCore& core) const noexcept {
  bool held = false;
  for_each_budget([&](DeviceBudget& device) { held = held || device.budget().held_elsewhere(&core); });
  return held;
}

const bool registered = tasking::register_gate(new AdmissionGate);

}  // namespace
}  // namespace dovetail::admission
