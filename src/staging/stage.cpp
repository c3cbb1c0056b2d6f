#include "staging/stage.hpp"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.hpp"
#include "tasking/background.hpp"
#include "tasking/pause.hpp"

namespace dovetail::staging {
namespace {

// As long as nothing follows, the newest transfers wait this long to be made together with what may follow.
constexpr std::chrono::milliseconds gathering_time{2};
// Memory that has not been used for so long is given back.
constexpr std::chrono::seconds idle_time{1};

}  // namespace

Stage::Stage(base::MemoryBudget& budget, base::Overlap& told)
    : overlap(told), pool(budget), changed_(std::make_unique<std::condition_variable_any>()) {}

Stage::~Stage() = default;

Stage& Stage::of_process(base::MemoryBudget& budget, base::Overlap& overlap) {
  static Stage& made = [&]() -> Stage& {
    static auto* const kept = new std::shared_ptr<Stage>(std::make_shared<Stage>(budget, overlap));
    static Stage& stage = **kept;
    // After that of `mutex`, so that the waiting here comes before all locks are taken for the fork.
    pthread_atfork([] { stage.drain(&Statistics::waited_before_forks); }, nullptr, [] { stage.forget_parent(); });
    // A program may leave files open; what was written must be in them all the same.
    std::atexit([] {
      std::uint64_t waited = 0;
      stage.drain(waited);
    });
    return stage;
  }();
  return made;
}

// Participants come and go whenever the lock is given back.
void Stage::start_all() {
  while (std::ranges::any_of(participants, [](Participant* each) REQUIRES(stage_lock) { return each->start(); })) {
  }
}

// A worker makes no transfers: it would run other tasks meanwhile, with the locks of this one.
bool Stage::help(Participant* only) {
  if (tasking::pause_switches()) {
    return only != nullptr ? only->start() : (start_all(), false);
  }
  return only != nullptr
             ? only->help()
             : std::ranges::any_of(participants, [](Participant* each) REQUIRES(stage_lock) { return each->help(); });
}

void Stage::sleep() {
  ++waiting_;
  changed_->wait(mutex);
  --waiting_;
}

bool Stage::wait_for(std::uint64_t nanoseconds, std::uint64_t& waited, const std::function<bool()>& ready) {
  constexpr std::uint64_t for_ever = std::uint64_t{1} << 60;  // 36 years
  if (nanoseconds >= for_ever) {
    wait(waited, ready);
    return true;
  }
  if (ready() || nanoseconds == 0) {
    return ready();
  }
  const base::Overlap::Wait waiting(overlap);
  const std::uint64_t begin = base::nanoseconds();
  start_all();
  ++waiting_;
  const bool came = changed_->wait_for(mutex, std::chrono::nanoseconds(nanoseconds), ready);
  --waiting_;
  waited += base::nanoseconds() - begin;
  return came;
}

void Stage::drain(std::uint64_t& waited) noexcept {
  const Lock lock(mutex);
  wait(waited, [this]() REQUIRES(stage_lock) { return outstanding == 0; });
}

void Stage::drain(std::uint64_t Statistics::* counter) noexcept {
  std::uint64_t waited = 0;
  drain(waited);
  const Lock lock(mutex);
  statistics.*counter += waited;
}

bool Stage::call_later(std::chrono::nanoseconds time, void (Stage::*call)() noexcept) noexcept {
  return tasking::call_in_background(base::Clock::now() + time, [weak = weak_from_this(), call] {
    if (const std::shared_ptr<Stage> stage = weak.lock()) {
      ((*stage).*call)();
    }
  });
}

bool Stage::start_soon() noexcept {
  {
    const Lock lock(mutex);
    if (starting_) {
      return true;
    }
    starting_ = true;
  }
  const bool will = call_later(gathering_time, &Stage::start_what_waits);
  if (!will) {
    const Lock lock(mutex);
    starting_ = false;
  }
  return will;
}

void Stage::start_what_waits() noexcept {
  const Lock lock(mutex);
  starting_ = false;
  start_all();
}

void Stage::tidy_when_idle() noexcept {
  {
    const Lock lock(mutex);
    if (tidying_ || pool.kept() == 0) {
      return;
    }
    tidying_ = true;
  }
  look_again_later();
}

void Stage::look_again_later() noexcept {
  {
    const Lock lock(mutex);
    activity_ = pool.activity();
    look_again_ = base::Clock::now() + idle_time;
  }
  if (!call_later(idle_time, &Stage::look_whether_idle)) {
    const Lock lock(mutex);
    tidying_ = false;
  }
}

// Comes early where the runtime ends: then memory is given back at once, since another runtime would have to be made to do it later.
void Stage::look_whether_idle() noexcept {
  bool early = false;
  bool idle = false;
  {
    const Lock lock(mutex);
    early = base::Clock::now() < look_again_;
    idle = pool.taken() == 0 && (early || pool.activity() == activity_);
    if (early && !idle) {
      tidying_ = false;  // the next close of a file comes here again
      return;
    }
  }
  const TaskDescription task{.label = "giving memory back", .io = true, .on_failure = ignore_failure};
  if (!idle) {
    look_again_later();
  } else if (early || !tasking::spawn_in_background(task, [self = shared_from_this()] { self->tidy(); })) {
    tidy();
  }
}

void Stage::tidy() noexcept {
  Lock lock(mutex);
  for (Participant* participant : participants) {
    participant->rest();
  }
  while (pool.kept() != 0) {
    pool.release_some();
    const Unlocked unlocked(mutex);  // other threads get the lock between two pieces
  }
  tidying_ = false;
  lock.unlock();
  malloc_trim(0);  // small buffers, and what chunks were compressed in: the C library would keep them
}

// The child has one thread.
void Stage::forget_parent() noexcept NO_THREAD_SAFETY_ANALYSIS {
  ++generation_;
  [[maybe_unused]] const auto* const of_parent = changed_.release();  // its threads wait in it
  changed_ = std::make_unique<std::condition_variable_any>();
  waiting_ = 0;
  starting_ = tidying_ = false;
  outstanding = 0;
  failures = 0;
  statistics = {};
  pool.forget_taken();
  for (Participant* participant : participants) {
    participant->forget();
  }
}

}  // namespace dovetail::staging
