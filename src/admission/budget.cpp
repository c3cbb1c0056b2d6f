#include "admission/budget.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::admission {
namespace {

// Sums of shares that fill a device exactly, but for rounding.
constexpr double whole = 1 + 1e-9;
// How many tasks of a type show how much work they are.
constexpr unsigned unit_samples = 3;
// Programs that make a label for every task share one type for the rest.
constexpr std::size_t most_types = 256;
constexpr const char* other_labels = "(other labels)";
constexpr std::uint64_t between_turns = 8;

bool goes_before(const Candidate& left, const Candidate& right) noexcept {
  return left.priority != right.priority ? left.priority > right.priority : left.sequence < right.sequence;
}

}  // namespace

TaskType& Budget::type(const Names& names, double bandwidth, unsigned executors, unsigned starting) {
  const base::LockGuard lock(mutex_);
  const unsigned limit = most();
  executors = limit != 0 ? std::min(executors, limit) : executors;
  starting = limit != 0 || starting == 0 ? executors : std::min(executors, starting);
  if (executors > executors_) {
    executors_ = executors;
    adaptive_.set_most(executors);
    seconds_among_.resize(executors + 1);
  }
  const std::string& label = types_.size() < most_types || has_name(names) ? names.label : std::string(other_labels);
  TaskType*& found = by_name_[{label, names.constraint.text(), names.direction, names.device}];
  if (found == nullptr) {
    auto made = std::make_unique<TaskType>();
    made->label = label;
    made->constraint = names.constraint;
    made->direction = names.direction;
    made->device = names.device;
    made->bandwidth = bandwidth;
    const auto kind = names.constraint.kind();
    if (kind == StorageBandwidth::Kind::automatic || kind == StorageBandwidth::Kind::bounded) {
      // A bounded constraint starts where its bounds say.
      made->automatic = std::make_unique<AutoLearner>(names.constraint, bandwidth,
                                                      kind == StorageBandwidth::Kind::automatic ? starting : executors);
    }
    types_.push_back(std::move(made));
    found = types_.back().get();
  }
  return *found;
}

bool Budget::has_type(const Names& names) const {
  const base::LockGuard lock(mutex_);
  return has_name(names);
}

bool Budget::has_name(const Names& names) const {
  return by_name_.contains({names.label, names.constraint.text(), names.direction, names.device});
}

Budget::Owner& Budget::owner(const void* owner) {
  for (Owner& known : owners_) {
    if (known.owner == owner) {
      return known;
    }
  }
  std::erase_if(owners_, [](const Owner& known) { return known.inside == 0 && known.waiting == 0; });
  return owners_.emplace_back(Owner{owner});
}

void Budget::advance(double now) {
  const double passed = std::max(0.0, now - now_);
  if (!seconds_among_.empty()) {
    seconds_among_[std::min<std::size_t>(inside_, seconds_among_.size() - 1)] += passed;
  }
  busy_seconds_ += inside_ + free_inside_ > 0 ? passed : 0;
  now_ = std::max(now_, now);
}

unsigned Budget::at_once(const TaskType& type) const noexcept {
  switch (type.constraint.kind()) {
    case StorageBandwidth::Kind::fixed:
      return static_cast<unsigned>(std::max(1.0, std::floor(whole / share_of(type))));
    case StorageBandwidth::Kind::adaptive:
      return adaptive_.at_once();
    case StorageBandwidth::Kind::none:
      return 0;
    default:
      return type.automatic->at_once();
  }
}

double Budget::constraint(const TaskType& type) const noexcept {
  switch (type.constraint.kind()) {
    case StorageBandwidth::Kind::fixed:
      return type.constraint.mb_per_second();
    case StorageBandwidth::Kind::adaptive:
      return type.bandwidth / adaptive_.at_once();
    case StorageBandwidth::Kind::none:
      return 0;
    default:
      return type.automatic->constraint();
  }
}

double Budget::share_of(const TaskType& type) const noexcept {
  return type.bandwidth > 0 ? std::min(1.0, constraint(type) / type.bandwidth) : 0;
}

bool Budget::enter(Candidate& candidate, double now, CandidateList& admitted, const std::function<bool()>& unwanted) {
  const base::LockGuard lock(mutex_);
  if (unwanted && unwanted()) {
    return false;
  }
  TaskType& type = *candidate.type;
  candidate.sequence = next_sequence_++;
  candidate.place = Candidate::Place::waiting;
  type.queue.push(candidate);
  ++type.waiting;
  ++waiting_;
  if (!type.free()) {
    rise_.arrived(now);
  }
  ++owner(candidate.owner).waiting;
  if (type.automatic != nullptr && !type.automatic->learning()) {
    // "every time new execution requests of an auto-constrained task arrive to the scheduler" (section 4.2.3 C)
    type.automatic->requests(type.waiting);
    note(type, now);
  }
  admit(now, admitted);
  return true;
}

void Budget::tell_device() noexcept {
  const unsigned at_once = adaptive_inside_ > 0 ? adaptive_.at_once() : 0;
  if (device_ != nullptr && at_once != device_->tasks_at_once()) {
    device_->set_tasks_at_once(at_once);
  }
}

void Budget::count_in(Candidate& candidate, double now) {
  const base::LockGuard lock(mutex_);
  ++candidate.type->waiting;
  ++waiting_;
  ++owner(candidate.owner).waiting;
  start(*candidate.type, candidate, now);
}

void Budget::tell_leaving(Candidate& candidate) const noexcept {
  if (const CandidateOwner* const owner = candidate_owner_.load(std::memory_order_acquire)) {
    owner->leaving(candidate);
  }
}

bool Budget::adaptive_may_start(double now) {
  const unsigned level = adaptive_.at_once();
  return inside_ == 0 ||
         (inside_ < level && rise_.allows(level, now) && used_ + (adaptive_inside_ + 1.0) / level <= whole);
}

bool Budget::may_start(TaskType& type, double now) {
  if (const unsigned limit = most(); limit != 0 && inside_ + free_inside_ >= limit) {
    return false;
  }
  if (type.free()) {
    return true;
  }
  if (type.learning()) {
    reserved_ = &type;
    return type.inside == inside_ && type.automatic->has_place();
  }
  if (type.tuned()) {
    return adaptive_may_start(now);
  }
  const double used_by_adaptive = static_cast<double>(adaptive_inside_) / adaptive_.at_once();
  return inside_ == 0 || used_ + used_by_adaptive + share_of(type) <= whole;
}

// How the next candidate is taken: now and then in turn, so that none waits for ever behind those of higher priority.
base::Order Budget::order() const noexcept {
  return (admitted_ + 1) % between_turns == 0 ? base::Order::in_turn : base::Order::by_priority;
}

// The type whose first candidate goes before those of all others that may enter; null if none waits.
TaskType* Budget::foremost(bool free_only) const noexcept {
  TaskType* head = nullptr;
  const Candidate* first = nullptr;
  for (const auto& type : types_) {
    const bool allowed = free_only ? type->free() : reserved_ == nullptr || reserved_ == type.get();
    const Candidate* const candidate = allowed ? type->queue.front(order()) : nullptr;
    if (candidate != nullptr &&
        (first == nullptr ||
         (order() == base::Order::in_turn ? candidate->sequence < first->sequence : goes_before(*candidate, *first)))) {
      head = type.get();
      first = candidate;
    }
  }
  return head;
}

void Budget::admit(double now, CandidateList& admitted) {
  for (;;) {
    if (reserved_ != nullptr && (!reserved_->learning() || (reserved_->inside == 0 && reserved_->waiting == 0))) {
      reserved_ = nullptr;
    }
    TaskType* head = foremost(false);
    // A candidate that does not fit goes first all the same, or a large share might never be free. Candidates without constraint take no
    // share, so they may overtake it.
    if (head == nullptr || !may_start(*head, now)) {
      head = foremost(true);
      if (head == nullptr || !may_start(*head, now)) {
        break;
      }
    }
    Candidate* const candidate = head->queue.pop(order());
    ++admitted_;
    start(*head, *candidate, now);
    tell_leaving(*candidate);
    admitted.push(*candidate);
  }
  tell_device();
}

void Budget::start(TaskType& type, Candidate& candidate, double now) {
  advance(now);
  --type.waiting;
  --waiting_;
  Owner& whose = owner(candidate.owner);
  --whose.waiting;
  ++whose.inside;
  ++type.inside;
  ++(type.free() ? free_inside_ : inside_);
  most_inside_ = std::max(most_inside_, inside_ + free_inside_);
  candidate.place = Candidate::Place::inside;
  candidate.entered = now;
  if (intervals_.empty()) {
    intervals_.push_back({now, interval_, 0, 0});
  }
  candidate.learning = type.learning();
  candidate.share = 0;
  candidate.tuned = type.tuned();
  if (candidate.learning) {
    type.automatic->admitted();
  } else if (candidate.tuned) {
    ++adaptive_inside_;
    candidate.seconds_among = seconds_among_;
    rise_.entered(now);
  } else {
    candidate.share = share_of(type);
  }
  used_ += candidate.share;
  if (type.history.empty()) {
    note(type, now);
  }
}

bool Budget::leave(Candidate& candidate, const TaskEnd& end, double now, CandidateList& admitted) {
  const base::LockGuard lock(mutex_);
  TaskType& type = *candidate.type;
  advance(now);
  const bool found = teach(candidate, end, now);
  --owner(candidate.owner).inside;
  --type.inside;
  --(type.free() ? free_inside_ : inside_);
  used_ = std::max(0.0, used_ - candidate.share);
  if (inside_ == 0) {
    used_ = 0;  // rounding does not add up
  }
  if (candidate.tuned) {
    --adaptive_inside_;
    rise_.left(candidate.entered, now);
  }
  candidate.place = Candidate::Place::over;
  admit(now, admitted);
  return found;
}

bool Budget::teach(Candidate& candidate, const TaskEnd& end, double now) {
  TaskType& type = *candidate.type;
  const double seconds = std::max(0.0, now - candidate.entered);
  const double megabytes = end.bytes_known ? static_cast<double>(end.bytes) / megabyte : 0;
  ++tasks_;
  ++type.tasks;
  type.failed += end.failed ? 1 : 0;
  bytes_ += end.bytes_known ? end.bytes : 0;
  note_transfer(now - seconds, now, megabytes);
  if (candidate.learning) {
    if (type.automatic->ended(seconds, end.failed)) {
      if (!type.automatic->learning()) {
        type.automatic->requests(type.waiting);
      }
      note(type, now);
    }
    return false;
  }
  if (candidate.seconds_among.empty() || seconds <= 0) {
    return false;
  }
  type.tasks_searching += type.tuned() && adaptive_.searching() ? 1 : 0;
  if (end.failed) {
    return false;  // it may have ended early, or waited for something else than the device
  }
  std::vector<double>& among = candidate.seconds_among;
  for (std::size_t count = 0; count < among.size(); ++count) {
    among[count] = seconds_among_[count] - among[count];
  }
  const unsigned before = adaptive_.at_once();
  const bool found = adaptive_.ended({.seconds_among = among,
                                      .work = work_of(type, end, among),
                                      .present = inside_ - 1 + static_cast<unsigned>(waiting_),
                                      .device_rate = device_rate()});
  if (found || adaptive_.at_once() != before) {
    note_adaptive(now);
  }
  return found;
}

// What the device can give if each direction does, in the unit of work; 0 if that is not MB, or not known of all types.
double Budget::device_rate() const noexcept {
  double reads = 0;
  double writes = 0;
  for (const auto& type : types_) {
    if (type->free()) {
      continue;
    }
    if (type->bandwidth <= 0 || !type->by_bytes || type->unit != 1) {
      return 0;
    }
    double& rate = type->direction == Direction::read ? reads : writes;
    rate = std::max(rate, type->bandwidth);
  }
  return reads + writes;
}

// Work in the unit of the device's first type: MB if that is known of it, else its tasks. The device's time for the first
// tasks of another type tells the worth of a task, or MB, of it in that unit. These tasks teach nothing else.
double Budget::work_of(TaskType& type, const TaskEnd& end, std::span<const double> seconds_among) {
  const double megabytes = end.bytes_known ? static_cast<double>(end.bytes) / megabyte : 0;
  if (type.unit == 0 && type.unit_count == 0) {
    type.by_bytes = megabytes > 0;
    const bool first = !has_unit_ && adaptive_.rate() == 0;
    if (first) {
      has_unit_ = true;
      unit_by_bytes_ = type.by_bytes;
    }
    if (first || (type.by_bytes && unit_by_bytes_)) {
      type.unit = 1;
    }
  }
  const double amount = type.by_bytes ? megabytes : 1;
  if (type.unit > 0) {
    if (type.by_bytes && megabytes <= 0) {
      return 0;  // this one's are not known: no sample
    }
    return type.unit * amount;
  }
  const double work = adaptive_.expected_work(seconds_among);
  if (amount > 0 && work > 0) {
    type.unit_sum += work / amount;
    if (++type.unit_count >= unit_samples) {
      type.unit = type.unit_sum / type.unit_count;
    }
  }
  return 0;
}

void Budget::withdraw(const std::function<bool(const Candidate&)>& unwanted, double now, CandidateList& withdrawn,
                      CandidateList& admitted) {
  const base::LockGuard lock(mutex_);
  for (const auto& type : types_) {
    CandidateList left = type->queue.take(unwanted);
    while (Candidate* candidate = left.pop()) {
      --type->waiting;
      --waiting_;
      --owner(candidate->owner).waiting;
      candidate->place = Candidate::Place::outside;
      tell_leaving(*candidate);
      withdrawn.push(*candidate);
    }
  }
  if (!withdrawn.empty()) {
    admit(now, admitted);  // the one that did not fit may be gone
  }
}

Candidate::Place Budget::place(const Candidate& candidate) const {
  const base::LockGuard lock(mutex_);
  return candidate.place;
}

bool Budget::held_elsewhere(const void* owner) const {
  const base::LockGuard lock(mutex_);
  bool waits = false;
  bool others = false;
  for (const Owner& known : owners_) {
    waits = waits || (known.owner == owner && known.waiting > 0);
    others = others || (known.owner != owner && known.inside > 0);
  }
  return waits && others;
}

std::string Budget::waits_for(const Candidate& candidate) const {
  const base::LockGuard lock(mutex_);
  std::string text =
      "device '" + candidate.type->device + "', where " + std::to_string(inside_ + free_inside_) + " task(s) run";
  if (reserved_ != nullptr && reserved_ != candidate.type) {
    text += " and task type '" + reserved_->label + "' is being learned";
  } else {
    text += " under constraint '" + candidate.type->constraint.text() + "'";
  }
  return text;
}

void Budget::begin_with(unsigned at_once) {
  const base::LockGuard lock(mutex_);
  adaptive_.begin_with(at_once);
}

void Budget::begin_near(std::span<const device::Level> curve) {
  const base::LockGuard lock(mutex_);
  adaptive_.begin_near(curve);
}

void Budget::recall(const device::Level& level) {
  const base::LockGuard lock(mutex_);
  if (adaptive_.fresh()) {
    adaptive_.recall(level);
    unit_by_bytes_ = level.rate > 0;
  }
}

device::Level Budget::remember() const {
  const base::LockGuard lock(mutex_);
  device::Level level = adaptive_.remember();
  if (!unit_by_bytes_) {
    level.rate = 0;
  }
  return level;
}

void Budget::inspect(const std::function<void(const Budget&)>& look) const {
  const base::LockGuard lock(mutex_);
  look(*this);
}

}  // namespace dovetail::admission
