// Futures as senders of P2300 (`std::execution`): a consumer connects one with a receiver, starts the operation state, which stays where it is, and the
// receiver is told once. Both ways lead there: `when_completed`, and `co_await`, by which the standard makes a sender of whatever is awaitable.
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>

#include "support.hpp"

namespace dovetail::test {
namespace {

template <class T>
std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const T& failure) {
    return failure.what();
  }
}

struct ByCallback {
  template <class T, class Receiver>
  class Operation {
   public:
    Operation(Future<T> future, Receiver receiver) : future_(std::move(future)), receiver_(std::move(receiver)) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    void start() noexcept {
      future_.when_completed([this] { complete(); });
    }

   private:
    // The receiver may end this object.
    void complete() noexcept {
      Receiver receiver = std::move(receiver_);
      const Future<T> future = std::move(future_);
      std::optional<T> result;
      try {
        result = future.get();
      } catch (...) {
        receiver.set_error(std::current_exception());
        return;
      }
      receiver.set_value(std::move(*result));
    }

    Future<T> future_;
    Receiver receiver_;
  };
};

// As the standard connects an awaitable: the operation state holds a coroutine.
struct ByAwaiting {
  struct Coroutine {
    struct promise_type {
      Coroutine get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_always initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
  };
  // Tells the receiver once the coroutine is suspended for good: the receiver may end it.
  template <class Tell>
  struct Last {
    Tell tell;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) noexcept {
      Tell mine = std::move(tell);
      mine();
    }
    void await_resume() const noexcept {}
  };

  template <class T, class Receiver>
  class Operation {
   public:
    Operation(Future<T> future, Receiver receiver) : coroutine_(run(std::move(future), std::move(receiver))) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    ~Operation() { coroutine_.handle.destroy(); }
    void start() noexcept { coroutine_.handle.resume(); }

   private:
    static Coroutine run(Future<T> future, Receiver receiver) {
      std::optional<T> result;
      std::exception_ptr error;
      try {
        result = co_await future;
      } catch (...) {
        error = std::current_exception();
      }
      auto tell = [receiver = std::move(receiver), result = std::move(result), error]() mutable {
        if (error != nullptr) {
          receiver.set_error(error);
        } else {
          receiver.set_value(std::move(*result));
        }
      };
      Last<decltype(tell)> last{std::move(tell)};  // as a temporary GCC 12 would copy it bitwise
      co_await last;
    }

    const Coroutine coroutine_;
  };
};

template <class How, class T, class Receiver>
auto connect(Future<T> future, Receiver receiver) {
  return typename How::template Operation<T, Receiver>(std::move(future), std::move(receiver));
}

struct Told {
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  int value = 0;
  std::string error;
};

struct Receiver {
  Told* told;
  void set_value(int value) noexcept {
    told->value = value;
    told->values.fetch_add(1);
  }
  void set_error(const std::exception_ptr& error) noexcept {
    told->error = text_of<TaskFailed>(error);
    told->errors.fetch_add(1);
  }
};

template <class How>
class SenderTest : public testing::Test {};
using Ways = testing::Types<ByCallback, ByAwaiting>;
TYPED_TEST_SUITE(SenderTest, Ways);

TYPED_TEST(SenderTest, NothingBeginsBeforeItIsStartedAndThenTheReceiverIsToldOnce) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  Told told;
  const Future<int> future = runtime.spawn([&] {
    gate.pass();
    return 7;
  });
  auto operation = connect<TypeParam>(future, Receiver{&told});
  operation.start();
  EXPECT_EQ(told.values.load() + told.errors.load(), 0) << "the task has not completed";
  gate.open();
  runtime.wait();
  EXPECT_EQ(told.values.load(), 1);
  EXPECT_EQ(told.value, 7);
  Told never;
  auto not_started = connect<TypeParam>(future, Receiver{&never});
  runtime.wait();
  EXPECT_EQ(never.values.load() + never.errors.load() + told.errors.load(), 0);
}

TYPED_TEST(SenderTest, AFutureThatHasCompletedTellsWithinStart) {
  Runtime runtime(Options{.workers = 1});
  const Future<int> future = runtime.spawn([] { return 3; });
  future.wait();
  Told told;
  auto operation = connect<TypeParam>(future, Receiver{&told});
  operation.start();
  EXPECT_EQ(told.value, 3);
}

TYPED_TEST(SenderTest, AFailureAndACancellationAreErrors) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  Told failed;
  Told cancelled;
  const Future<int> fails = runtime.spawn({.label = "fails"}, [&]() -> int {
    gate.pass();
    throw std::runtime_error("too bad");
  });
  const Future<int> dropped = runtime.spawn({.label = "dropped"}, [] { return 1; });
  auto first = connect<TypeParam>(fails, Receiver{&failed});
  auto second = connect<TypeParam>(dropped, Receiver{&cancelled});
  first.start();
  second.start();
  dropped.cancel();
  gate.open();
  await([&] { return failed.errors.load() + cancelled.errors.load() == 2; });
  EXPECT_NE(failed.error.find("too bad"), std::string::npos) << failed.error;
  EXPECT_NE(cancelled.error.find("dropped"), std::string::npos) << cancelled.error;
  EXPECT_EQ(failed.values.load() + cancelled.values.load(), 0);
}

// A receiver that ends the operation state, and is itself the last thing of it: as `start_detached` does.
template <class How>
struct Detached {
  struct Receiver {
    Detached* whole;
    std::atomic<int>* sum;
    void set_value(int value) noexcept {
      std::atomic<int>& to = *sum;
      delete whole;
      to.fetch_add(value);
    }
    void set_error(const std::exception_ptr&) noexcept { std::terminate(); }
  };
  typename How::template Operation<int, Receiver> operation;
  Detached(Future<int> future, std::atomic<int>& sum) : operation(std::move(future), Receiver{this, &sum}) {}
};

TYPED_TEST(SenderTest, TheReceiverMayEndTheOperation) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> sum{0};
  const int tasks = static_cast<int>(scaled(20000, 2000));
  for (int i = 0; i < tasks; ++i) {  // while the task completes, before and after
    (new Detached<TypeParam>(runtime.spawn([] { return 1; }), sum))->operation.start();
  }
  runtime.wait();
  EXPECT_EQ(sum.load(), tasks);
}

// What adaptors do: the receiver of one operation starts the next.
TYPED_TEST(SenderTest, AReceiverMayStartWhatFollows) {
  using Second = typename TypeParam::template Operation<int, Receiver>;
  struct Chain {
    struct Then {
      Chain* chain;
      void set_value(int value) noexcept {
        chain->second.emplace(chain->runtime.spawn([value] { return value * 2; }), Receiver{&chain->told});
        chain->second->start();
      }
      void set_error(const std::exception_ptr&) noexcept { std::terminate(); }
    };
    Runtime& runtime;
    Told told;
    std::optional<Second> second;
  };
  Runtime runtime(Options{.workers = 1});
  Chain chain{runtime, {}, {}};
  Gate gate;
  auto first = connect<TypeParam>(runtime.spawn([&] {
    gate.pass();
    return 21;
  }),
                                  typename Chain::Then{&chain});
  first.start();
  gate.open();
  await([&] { return chain.told.values.load() == 1; });
  EXPECT_EQ(chain.told.value, 42);
  runtime.wait();
}

}  // namespace
}  // namespace dovetail::test
