#include "comm/mpi/engine.hpp"

#include <memory>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/spin_lock.hpp"
#include "comm/mpi/delivery.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/settings.hpp"

namespace dovetail::comm::mpi {
namespace {

const char key = 0;

const bool registered = tasking::register_service(
    &key, [](detail::RuntimeCore& core, const Options&, unsigned) { return std::make_unique<Engine>(core); });

// Of one that serves what others submit meanwhile. What is left is for the next poll.
constexpr unsigned most_rounds = 8;
constexpr unsigned looks_for_the_turn = 1000;
constexpr unsigned looks_before_yield = 64;

// Negative: it is not set.
nanoseconds microseconds_from_environment(const char* variable) {
  constexpr std::size_t most = 1'000'000;
  const std::size_t value = tasking::number_from_environment(variable, most + 1, 0, most);
  return value > most ? nanoseconds(-1) : microseconds(value);
}

Operation* append(Operation* list, Operation* more) noexcept {
  while (more != nullptr) {
    Operation* const next = more->next;
    more->next = list;
    list = more;
    more = next;
  }
  return list;
}

}  // namespace

Engine::Engine(detail::RuntimeCore& core)
    : core_(core),
      sources_(core.sources),
      interval_(microseconds_from_environment("DOVETAIL_MPI_POLL")),
      linger_(microseconds_from_environment("DOVETAIL_MPI_LINGER")) {
  sources_->add(this);
  lead_calls();
}

Engine::~Engine() { sources_->remove(this); }

Engine& Engine::of(const Task* task) noexcept {
  return static_cast<Engine&>(*tasking::find_service(tasking::runtime_of(task), &key));
}

void Engine::submit(Operation* operations, std::size_t count, Library& library) noexcept {
  in_flight_.fetch_add(count, std::memory_order_seq_cst);
  while (operations != nullptr) {
    Operation* const next = operations->next;
    turn_.submit(operations);  // it may be gone from here on
    operations = next;
  }
  serve(library);
  if (in_flight() > 0) {
    tasking::begin_polling(core_);
  }
}

void Engine::submit_and_start(Operation* operation, Library& library) noexcept {
  std::atomic<bool> started{false};
  operation->told_of_start = &started;
  submit(operation, 1, library);
  // Whoever has the turn starts it in a moment, or has given it back.
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
    if (operation->description.has_communicator) {
      library.expect_errors(operation->description.communicator);
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
      if (operation->told_of_start != nullptr) {
        operation->told_of_start->store(true, std::memory_order_release);
      }
    }
    // MPI asks nothing of a request that is null, so it would never end.
    if (operation->code != 0 || library.is_null(operation->request.data())) {
      operation->next = std::exchange(ended, operation);
    } else {
      outstanding_.add(library, operation);
    }
    operation = next;
  }
  return ended;
}

unsigned Engine::serve(Library& library) noexcept {
  unsigned told = 0;
  for (unsigned round = 0; round < most_rounds && turn_.holds_submissions() && turn_.try_enter(); ++round) {
    library.enter();
    const std::size_t before = outstanding_.size();
    Operation* ended = take_in(library);
    ended = append(ended, outstanding_.ask_newest(library, outstanding_.size() - before));
    library.leave();
    turn_.leave();
    told += tell(ended, library);
  }
  return told;
}

// Outside of the turn: what tasks do next may need it.
unsigned Engine::tell(Operation* ended, const Library& library) noexcept {
  unsigned count = 0;
  for (const Operation* operation = ended; operation != nullptr; operation = operation->next) {
    ++count;
  }
  if (count > 0) {
    in_flight_.fetch_sub(count, std::memory_order_seq_cst);  // before anybody is told, who may start the next one
  }
  if (count > 0) {
    // Not as a part of the task that runs here: what others' completion destroys may wait.
    const tasking::OutsideOfTask outside;
    while (ended != nullptr) {
      Operation* const next = ended->next;
      deliver(ended, library);
      ended = next;
    }
  }
  return count;
}

unsigned Engine::poll(unsigned worker, tasking::PollScope scope) {
  // No worker has operations of its own. For the busy ones it is asked when it is time.
  if (scope == tasking::PollScope::own || in_flight_.load(std::memory_order_relaxed) == 0 || !turn_.try_enter()) {
    return 0;
  }
  Library& library = *find_library();
  const bool is_timed = worker == no_worker;  // idle workers ask all the time
  const std::uint64_t begin = is_timed ? base::nanoseconds() : 0;
  library.enter();
  Operation* ended = take_in(library);
  ended = append(append(ended, outstanding_.ask(library)), attempts_.ask());
  library.leave();
  if (is_timed) {
    interval_.polled(nanoseconds(base::nanoseconds() - begin), ended != nullptr);
  } else if (ended != nullptr) {
    interval_.found();
  }
  turn_.leave();
  return tell(ended, library) + serve(library);
}

std::chrono::nanoseconds Engine::linger() noexcept {
  return in_flight_.load(std::memory_order_relaxed) > 0 ? linger_.ask() : nanoseconds{};
}

void Engine::for_each_wait(const std::function<void(const Task*, const std::string&)>& visit) const {
  Library* const library = find_library();
  for (unsigned look = 0; library != nullptr && look < looks_for_the_turn; ++look) {
    if (turn_.try_enter()) {
      const auto say = [&](const Operation& operation) {
        visit(operation.wait != nullptr ? operation.wait->task : operation.task, text_of(operation, *library));
      };
      outstanding_.for_each(say);
      attempts_.for_each(say);
      turn_.leave();
      break;
    }
    std::this_thread::yield();
  }
}

}  // namespace dovetail::comm::mpi
