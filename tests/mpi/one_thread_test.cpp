// With MPI_THREAD_FUNNELED, one thread calls the library for all tasks: the program's own, while it waits for tasks.
#include <array>
#include <future>

#include "comm/mpi/engine.hpp"
#include "dovetail/select.hpp"
#include "fake_library.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using dovetail::test::await;
using dovetail::test::Gate;

// The thread that makes the library is the one that may call.
class OneThread : public testing::Test {
 protected:
  OneThread() {
    fake().set_level(Level::funneled);
    forget_level();
  }
  ~OneThread() override {
    EXPECT_FALSE(fake().was_entered_elsewhere());
    EXPECT_FALSE(fake().was_entered_twice());
  }
  Runtime runtime_{Options{.workers = 2, .report_after = std::chrono::seconds(0)}};
};

// An operation that has ended when it starts.
detail::mpi::Start begins(std::atomic<bool>& started) {
  return detail::mpi::Start::of([&started](void* request) {
    const FakeLibrary::Inside inside(fake());
    const int number = fake().begin();
    fake().end(number);
    std::memcpy(request, &number, sizeof number);
    started = true;
    return 0;
  });
}

TEST_F(OneThread, NothingIsStartedWhileItComputes) {
  std::atomic<Engine*> engine{nullptr};
  std::atomic<bool> started{false};
  std::atomic<bool> returned{false};
  auto bound = runtime_.spawn([&] {
    engine = &Engine::of(tasking::current_task());
    detail::mpi::start_and_bind(Abi::mpich, {}, begins(started), nullptr);
    returned = true;
  });
  auto paused = runtime_.spawn([&] { detail::mpi::start_and_wait(Abi::mpich, {}, begins(started), nullptr); });
  await([&] { return engine.load() != nullptr && engine.load()->in_flight() == 2; });
  // Both workers are free for these, since both tasks are paused; and more than one after the other is run.
  std::atomic<int> others{0};
  for (int i = 0; i < 100; ++i) {
    runtime_.spawn([&] { ++others; });
  }
  await([&] { return others.load() == 100; });
  EXPECT_FALSE(started);
  EXPECT_FALSE(returned);
  bound.get();
  paused.get();
  EXPECT_TRUE(returned);
}

TEST_F(OneThread, EveryWaitForTasksServes) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> started{false};
    const auto message = [&] {
      return runtime_.spawn([&] { detail::mpi::start_and_wait(Abi::mpich, {}, begins(started), nullptr); });
    };
    message().get();
    auto waited_for = message();
    while (!waited_for.wait_for(std::chrono::milliseconds(10))) {
    }
    std::array<Future<void>, 2> two{message(), message()};
    EXPECT_TRUE(select({two[0], two[1]}).has_value());
    message();
    runtime_.wait();
  }
}

TEST_F(OneThread, AnOnreadyIsServedToo) {
  std::atomic<bool> started{false};
  std::atomic<bool> ran_too_early{false};
  int cell = 0;
  Gate gate;
  // So that the onready runs on a worker.
  runtime_.spawn({.access = {out(cell)}}, [&] { gate.pass(); });
  auto task = runtime_.spawn(
      {.access = {in(cell)}, .onready = [&] { detail::mpi::start_and_bind(Abi::mpich, {}, begins(started), nullptr); }},
      [&] { ran_too_early = !started; });
  gate.open();
  task.get();
  EXPECT_FALSE(ran_too_early);
}

TEST_F(OneThread, TheEndOfMpiStartsWhatWasSubmitted) {
  std::atomic<Engine*> engine{nullptr};
  std::array<std::atomic<bool>, 2> started{};
  const auto message = [&](std::atomic<bool>& its) {
    return runtime_.spawn([&] {
      engine = &Engine::of(tasking::current_task());
      detail::mpi::start_and_wait(Abi::mpich, {}, begins(its), nullptr);
    });
  };
  std::array<Future<void>, 2> tasks{message(started[0]), message(started[1])};
  // A task that calls MPI only when that has ended has a fault.
  await([&] { return engine.load() != nullptr && engine.load()->in_flight() == 2; });
  EXPECT_TRUE(detail::mpi::end_operations());
  for (Future<void>& task : tasks) {
    task.get();
  }
  EXPECT_TRUE(started[0] && started[1]);
}

TEST_F(OneThread, ACallWithoutAnotherFormIsMadeByIt) {
  const auto own = std::this_thread::get_id();
  auto code = runtime_.spawn([own] {
    detail::mpi::Description description;
    description.call = "MPI_Comm_dup";
    return detail::mpi::held(Abi::mpich, description, detail::mpi::Start::of([own](void*) {
                               return std::this_thread::get_id() == own ? 17 : 18;
                             }));
  });
  EXPECT_EQ(code.get(), 17);
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
