// Everything at once, in an order that the seed decides.
#include "support.hpp"

namespace dovetail::test {
namespace {

// A runtime under a random mixture of all that tasks can do.
class Mixture {
 public:
  explicit Mixture(std::uint64_t stream) : random_(stream), stream_(stream) {}

  void run() {
    const auto workers = static_cast<unsigned>(random_.between(1, 8));
    SCOPED_TRACE("workers " + std::to_string(workers));
    Runtime runtime(Options{.workers = workers,
                            .io_executors = static_cast<unsigned>(random_.between(1, 4)),
                            .stack_size = 32 * 1024,
                            .pending_limit = random_.between(100, 5'000)});
    runtime_ = &runtime;
    std::vector<std::thread> threads;
    const std::uint64_t spawners = random_.between(1, 4);
    for (std::uint64_t t = 0; t < spawners; ++t) {
      threads.emplace_back([this, t] { spawn_some(stream_ * 100 + t, scaled(2'000, 300), 2, true); });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    while (failure_of([&] { runtime.wait(); })) {
      reported_.fetch_add(1);
    }
    EXPECT_EQ(made_.load(), ran_.load() + cancelled_bodies_.load());
    EXPECT_EQ(exclusive_, exclusive_expected_.load());
    for (std::size_t i = 0; i < ordered_.size(); ++i) {
      EXPECT_EQ(ordered_[i], ordered_expected_[i].load()) << i;
    }
    stop_helpers();
  }

 private:
  // Counts its body as run, or as destroyed without having run.
  class Counted {
   public:
    explicit Counted(Mixture& of) : mixture_(&of) { of.made_.fetch_add(1); }
    Counted(Counted&& other) noexcept : mixture_(std::exchange(other.mixture_, nullptr)) {}
    Counted(const Counted&) = delete;
    ~Counted() {
      if (mixture_ != nullptr) {
        mixture_->cancelled_bodies_.fetch_add(1);
      }
    }
    void ran() {
      if (mixture_ != nullptr) {
        std::exchange(mixture_, nullptr)->ran_.fetch_add(1);
      }
    }

   private:
    Mixture* mixture_;
  };

  void spawn_some(std::uint64_t stream, std::size_t count, int depth, bool outside) {
    Random random(stream);
    for (std::size_t i = 0; i < count; ++i) {
      spawn_one(random, stream * 1'000'003 + i, depth, outside);
      stumble(random);
    }
  }

  template <class Body>
  auto spawn_it(bool outside, const TaskDescription& description, Body&& body) {
    return outside ? runtime_->spawn(description, std::forward<Body>(body))
                   : dovetail::spawn(description, std::forward<Body>(body));
  }

  void spawn_one(Random& random, std::uint64_t stream, int depth, bool outside) {
    TaskDescription description{.label = "mixed",
                                .priority = static_cast<int>(random.between(0, 9)) > 7 ? 1 : 0,
                                .io = random.once_in(20),
                                .tied = random.once_in(10)};
    switch (random.between(0, 5)) {
      case 0: {
        // Only from outside: domains of different parents do not order each other.
        if (!outside) {
          break;
        }
        const std::size_t place = random.between(0, ordered_.size() - 1);
        ordered_expected_[place].fetch_add(1);
        description.access = {inout(ordered_[place])};
        spawn_it(outside, description, [this, place, counted = Counted(*this)]() mutable {
          counted.ran();
          const long seen = ordered_[place];
          pause_somehow(static_cast<std::uint64_t>(seen));
          ordered_[place] = seen + 1;
        });
        return;
      }
      case 1: {
        if (!outside) {
          break;
        }
        exclusive_expected_.fetch_add(1);
        description.access = {commutative(exclusive_)};
        spawn_it(outside, description, [this, counted = Counted(*this)]() mutable {
          counted.ran();
          ++exclusive_;
        });
        return;
      }
      case 2: {
        auto future = spawn_it(outside, description, [this, stream, counted = Counted(*this)]() mutable {
          counted.ran();
          fulfill_from_elsewhere(stream);
        });
        if (random.once_in(4)) {
          future.wait();
        }
        return;
      }
      case 3: {
        description.on_failure = random.once_in(2) ? retry(2) : ignore_failure;
        spawn_it(outside, description, [stream, attempt = 0, counted = Counted(*this)]() mutable {
          counted.ran();
          if (stream % 3 != 0 && ++attempt < 3) {
            throw std::runtime_error("a mixed failure");
          }
        });
        return;
      }
      case 4: {
        auto future = spawn_it(outside, description, [counted = Counted(*this)]() mutable { counted.ran(); });
        if (random.once_in(3)) {
          future.cancel();
        }
        return;
      }
      default:
        break;
    }
    spawn_it(outside, description, [this, stream, depth, counted = Counted(*this)]() mutable {
      counted.ran();
      pause_somehow(stream);
      if (depth > 0) {
        Random own(stream);
        spawn_some(stream, own.between(0, 5), depth - 1, false);
        if (own.once_in(2)) {
          failure_of([] { wait(); });
        }
      }
    });
  }

  void pause_somehow(std::uint64_t stream) {
    switch (stream % 11) {
      case 0:
        this_task::yield();
        break;
      case 1:
        this_task::wait_for(std::chrono::microseconds(stream % 50));
        break;
      case 2: {
        TaskHandle self = this_task::handle();
        runtime_->spawn([self = std::move(self)] { self.resume(); });
        this_task::suspend();
        break;
      }
      case 3:
        EXPECT_EQ(runtime_->spawn([stream] { return stream; }).get(), stream);
        break;
      default:
        break;
    }
  }

  // Hands an event of the current task to a thread that is not of the runtime.
  void fulfill_from_elsewhere(std::uint64_t stream) {
    Events& events = this_task::events();
    events.add();
    const std::lock_guard lock(mutex_);
    if (stream % 5 == 0 || helpers_.empty()) {
      if (helpers_.size() < 4) {
        helpers_.emplace_back([this] { help(); });
      }
    }
    handed_.push_back(&events);
    changed_.notify_one();
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !handed_.empty(); });
      if (handed_.empty()) {
        return;
      }
      Events* events = handed_.back();
      handed_.pop_back();
      lock.unlock();
      events->fulfill();
      lock.lock();
    }
  }

  void stop_helpers() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    for (auto& helper : helpers_) {
      helper.join();
    }
  }

  Random random_;
  const std::uint64_t stream_;
  Runtime* runtime_ = nullptr;
  std::atomic<long> made_{0}, ran_{0}, cancelled_bodies_{0}, reported_{0};
  long exclusive_ = 0;
  std::atomic<long> exclusive_expected_{0};
  std::vector<long> ordered_ = std::vector<long>(7, 0);
  std::vector<std::atomic<long>> ordered_expected_ = std::vector<std::atomic<long>>(7);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<Events*> handed_;
  std::vector<std::thread> helpers_;
};

TEST(StressTest, Mixtures) {
  for (std::uint64_t round = 0; round < scaled(10, 3); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Mixture(round).run();
  }
}

}  // namespace
}  // namespace dovetail::test
