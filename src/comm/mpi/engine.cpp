#include "comm/mpi/engine.hpp"

#include <pthread.h>
#include <time.h>

#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/spin_lock.hpp"
#include "comm/mpi/delivery.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"
#include "comm/mpi/recorded.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/gate.hpp"
#include "tasking/live_runtimes.hpp"
#include "tasking/pause.hpp"
#include "tasking/settings.hpp"

namespace dovetail::comm::mpi {
namespace {

const char key = 0;

const bool registered = tasking::register_service(
    &key, [](detail::RuntimeCore& core, const Options&, unsigned) { return std::make_unique<Engine>(core); });

// A message of a task that names a device has moved its bytes there. The task has not completed: it waits for this end, or is bound to it.
void count_bytes(const Operation& ended, const Library& library) noexcept {
  const Description& of = ended.description;
  tasking::Ticket* const ticket = tasking::ticket_of(ended.wait != nullptr ? ended.wait->task : ended.task);
  if (of.receives) {
    ticket->count_moved(static_cast<std::uint64_t>(of.count));
  } else if (of.has_size) {
    ticket->count_moved(library.bytes_of(of));
  }
}

// In the turn: with MPI_THREAD_SERIALIZED no other thread may ask MPI for its text.
void note_ends(Operation* ended, const Library& library) noexcept {
  for (; ended != nullptr; ended = ended->next) {
    record_end(*ended);
    if (ended->counts_bytes && ended->code == 0) [[unlikely]] {
      count_bytes(*ended, library);
    }
    if (ended->code != 0) [[unlikely]] {
      ended->cause = failure_of(*ended, library);
    }
  }
}

// Of one that serves what others submit meanwhile. What is left is for the next poll.
constexpr unsigned most_rounds = 8;
// As many operations that tasks are bound to are asked together. For MPI, asking costs as much as the message; and no task is paused for them.
constexpr std::size_t asked_together = 16;
constexpr unsigned looks_for_the_turn = 100;
constexpr unsigned looks_before_yield = 64;

// Negative: it is not set.
nanoseconds microseconds_from_environment(const char* variable) {
  constexpr std::size_t most = 1'000'000;
  const std::size_t value = tasking::number_from_environment(variable, most + 1, 0, most);
  return value > most ? nanoseconds(-1) : microseconds(value);
}

// The operation may be gone afterwards, if it is not the engine's.
void tell_of_start(Operation& operation) noexcept {
  if (operation.starting != nullptr) {
    tasking::wake(std::exchange(operation.starting, nullptr));
  } else if (operation.told_of_start != nullptr) {
    std::atomic<bool>& started = *std::exchange(operation.told_of_start, nullptr);
    started.store(true, std::memory_order_release);
    if (is_for_one_thread()) {  // else the thread that submitted it looks again and again
      started.notify_one();
    }
  }
}

// A task that pauses may go on at once. Of a bound one, most sends have gone when they have been started; then asking costs nothing, and what is
// sent may be written to again.
bool has_ended_at_once(Operation& operation, Library& library) noexcept {
  const Description& of = operation.description;
  Operation* const asked = &operation;
  unsigned place = 0;
  return (operation.wait != nullptr || (of.peer != detail::mpi::no_peer && !of.receives)) &&
         library.test(operation.request.data(), std::span(&asked, 1), &place) > 0;
}

nanoseconds processor_time_of_thread() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

}  // namespace

Engine::Engine(detail::RuntimeCore& core)
    : core_(core),
      sources_(core.sources),
      interval_(microseconds_from_environment("DOVETAIL_MPI_POLL")),
      linger_(microseconds_from_environment("DOVETAIL_MPI_LINGER")) {
  static const int at_fork = pthread_atfork(nullptr, nullptr, &Engine::forget_after_fork);
  static_cast<void>(at_fork);
  sources_->add(this);
  lead_calls();
}

Engine::~Engine() { sources_->remove(this); }

// The thread that had the turn is not in the child, and neither are the messages. MPI is not asked: the child must not call it.
void Engine::forget_after_fork() noexcept {
  tasking::for_each_live_runtime_after_fork([](detail::RuntimeCore& core) {
    auto* const engine = static_cast<Engine*>(tasking::find_service(core, &key));
    if (engine != nullptr) {
      engine->in_flight_.store(0, std::memory_order_relaxed);
      // Another thread may have been in the midst of changing them. Their memory stays.
      new (&engine->outstanding_) Outstanding;
      new (&engine->attempts_) Attempts;
      engine->unasked_ = 0;
      engine->turn_.forget();
    }
  });
  Turn::forget_holder();
}

Engine& Engine::of(const Task* task) noexcept {
  return static_cast<Engine&>(*tasking::find_service(tasking::runtime_of(task), &key));
}

bool Engine::try_enter() noexcept { return may_call_here() && Turn::try_enter(); }

void Engine::submit(Operation* operations, std::size_t count, Library& library) noexcept {
  in_flight_.fetch_add(count, std::memory_order_seq_cst);
  while (operations != nullptr) {
    Operation* const next = operations->next;
    turn_.submit(operations);  // it may be gone from here on
    operations = next;
  }
  serve(library);
  if (!is_for_one_thread()) {
    if (in_flight() > 0) {
      tasking::begin_polling(core_);
    }
  } else if (turn_.holds_submissions()) {
    tasking::tell_resident(core_);
  }
}

// By a thread that may not call MPI. The one that may starts it, when it waits for tasks.
void Engine::start_elsewhere(Operation* operation, Library& library) noexcept {
  if (Task* const task = tasking::current_task(); task != nullptr && tasking::task_in_onready() == nullptr) {
    operation->starting = task;
    tasking::prepare_pause(task);
    submit(operation, 1, library);
    tasking::pause(task, tasking::WaitReason::operation);
    return;
  }
  std::atomic<bool> started{false};
  operation->told_of_start = &started;
  submit(operation, 1, library);
  started.wait(false, std::memory_order_acquire);
}

void Engine::submit_and_start(Operation* operation, Library& library) noexcept {
  if (!may_call_here()) {
    start_elsewhere(operation, library);
    return;
  }
  std::atomic<bool> started{false};
  operation->told_of_start = &started;
  submit(operation, 1, library);
  // The thread that has the turn starts it in a moment, or has given it back.
  for (unsigned look = 1; !started.load(std::memory_order_acquire); ++look) {
    if (look % looks_before_yield == 0) {
      std::this_thread::yield();
    }
    base::cpu_relax();
    serve(library);
  }
}

// What was submitted is started. Returns what has ended of that.
Operation* Engine::take_in(Library& library) noexcept {
  Operation* ended = nullptr;
  for (Operation* operation = turn_.take(); operation != nullptr;) {
    Operation* const next = operation->next;
    const bool is_of_program = operation->is_started;
    if (operation->description.has_communicator && !operation->description.may_be_freed) {
      library.expect_errors(operation->description.communicator);
    }
    if (operation->description.has_window) {
      library.expect_errors_of_window(operation->description.communicator);
    }
    if (!is_of_program) {
      record_post(*operation, library);
    }
    if (operation->is_attempt) {
      if (attempts_.add(operation)) {
        operation->next = std::exchange(ended, operation);
      }
      operation = next;
      continue;
    }
    if (!operation->is_started) {
      operation->code = operation->start.function(operation->start.closure.data(), operation->request.data());
      operation->is_started = true;
      tell_of_start(*operation);
    }
    // MPI asks nothing of a request that is null, so it would never end.
    if (operation->code != 0 || library.is_null(operation->request.data()) ||
        (!is_of_program && has_ended_at_once(*operation, library))) {
      operation->next = std::exchange(ended, operation);
    } else {
      outstanding_.add(library, operation);
      ++unasked_;
      is_task_paused_ = is_task_paused_ || (is_of_program && operation->wait != nullptr);
    }
    operation = next;
  }
  return ended;
}

Operation* Engine::ask_newest(Library& library) noexcept {
  if (!is_task_paused_ && unasked_ < asked_together) {
    return nullptr;
  }
  is_task_paused_ = false;
  return outstanding_.ask_newest(library, std::exchange(unasked_, 0));
}

unsigned Engine::serve(Library& library) noexcept {
  unsigned told = 0;
  for (unsigned round = 0; round < most_rounds && turn_.holds_submissions() && try_enter(); ++round) {
    library.enter();
    Operation* ended = take_in(library);
    ended = move_to_front(ended, ask_newest(library));
    note_ends(ended, library);
    library.leave();
    Turn::leave();
    told += tell(ended);
  }
  return told;
}

// Outside of the turn: what tasks do next may need it.
unsigned Engine::tell(Operation* ended) noexcept {
  unsigned count = 0;
  for (const Operation* operation = ended; operation != nullptr; operation = operation->next) {
    ++count;
  }
  if (count > 0) {
    in_flight_.fetch_sub(count, std::memory_order_seq_cst);  // before a task is told, which may start the next one
    // Not as a part of the task that runs here: what others' completion destroys may wait.
    const tasking::OutsideOfTask outside;
    while (ended != nullptr) {
      Operation* const next = ended->next;
      deliver(ended);
      ended = next;
    }
  }
  return count;
}

unsigned Engine::poll(unsigned worker, tasking::PollScope scope) {
  // No worker has operations of its own. For the busy ones it is asked when it is time.
  if (scope == tasking::PollScope::own || in_flight_.load(std::memory_order_relaxed) == 0 || !try_enter()) {
    return 0;
  }
  Library& library = *find_library();
  const bool is_timed = worker == no_worker && !(is_for_one_thread() && lingers_);  // else it asks all the time
  const bool takes_in = turn_.holds_submissions();
  Looks looks{.allowed = is_timed ? interval_.looks() : 1};
  // Of the thread that keeps time: all that it has done since its last poll was for this one, or is too little to matter.
  nanoseconds waking{};
  if (is_timed && tasking::current_worker() < 0) {
    const nanoseconds so_far = processor_time_of_thread();
    waking = so_far - std::exchange(woken_at_, so_far);
  }
  const std::uint64_t begin = base::nanoseconds();
  library.enter();
  Operation* ended = take_in(library);
  ended = move_to_front(move_to_front(ended, outstanding_.ask(library, looks)), attempts_.ask(looks));
  unasked_ = 0;
  is_task_paused_ = false;
  const nanoseconds took(base::nanoseconds() - begin);
  const bool moved = ended == nullptr && movement_.seen(took / looks.taken);
  if (moved) {
    is_moving_.store(true, std::memory_order_relaxed);
  }
  note_ends(ended, library);
  library.leave();
  if (is_timed) {
    interval_.polled(took, looks.taken, waking, ended != nullptr, moved, core_.idle.count() == core_.workers.size());
  } else if (ended != nullptr) {
    interval_.found();
  }
  if (is_for_one_thread()) {
    polled_here(ended != nullptr || takes_in);
  }
  Turn::leave();
  return tell(ended) + serve(library);
}

std::chrono::nanoseconds Engine::linger() noexcept {
  return !is_for_one_thread() && in_flight_.load(std::memory_order_relaxed) > 0 ? linger_.ask() : nanoseconds{};
}

nanoseconds Engine::poll_interval() const noexcept {
  return is_for_one_thread() ? nanoseconds::max() : interval_.now();
}

bool Engine::lives_here() const noexcept { return is_for_one_thread() && may_call_here(); }

// After something was found it lingers: a task that was told goes on to its next message in a moment.
void Engine::polled_here(bool found) noexcept {
  polled_at_ = base::Clock::now();
  if (!found) {
    return;
  }
  if (lingers_) {
    linger_.ended(true);
  }
  const nanoseconds usual = linger_.ask();
  lingers_ = usual > nanoseconds{};
  lingers_until_ = base::deadline_after(polled_at_, usual);
}

base::TimePoint Engine::next_poll() noexcept {
  if (turn_.holds_submissions() || (lingers_ && base::Clock::now() < lingers_until_)) {
    return base::TimePoint::min();
  }
  if (std::exchange(lingers_, false)) {
    linger_.ended(false);
  }
  return in_flight() > 0 ? base::deadline_after(polled_at_, interval_.now()) : base::TimePoint::max();
}

bool Engine::for_each_wait(const tasking::VisitWait& visit) const {
  Library* const library = find_library();
  for (unsigned look = 0; library != nullptr && look < looks_for_the_turn; ++look) {
    if (Turn::try_enter()) {
      const Turn::Leaving leaving;
      const auto say = [&](const Operation& operation) {
        visit(operation.wait != nullptr ? operation.wait->task : operation.task,
              [&] { return text_of_wait(operation, *library); });
      };
      outstanding_.for_each(say);
      attempts_.for_each(say);
      return true;
    }
    std::this_thread::yield();
  }
  return library == nullptr;
}

}  // namespace dovetail::comm::mpi
