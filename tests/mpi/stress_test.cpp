// Many tasks, threads that end requests at random times, and every way of waiting.
#include "comm/mpi/engine.hpp"
#include "fake_library.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;

// Ends whatever has begun, in about the order of its beginning.
class Ender {
 public:
  explicit Ender(std::uint64_t stream)
      : thread_([this, stream, first = fake().begun()] { run(Random(stream), first); }) {}
  ~Ender() {
    over_ = true;
    thread_.join();
  }
  Ender(const Ender&) = delete;
  Ender& operator=(const Ender&) = delete;

 private:
  void run(Random random, int ended) {
    std::vector<int> kept;
    while (!over_) {
      for (const int begun = fake().begun(); ended < begun; ++ended) {
        if (random.once_in(8)) {
          kept.push_back(ended);
        } else {
          fake().end(ended);
        }
      }
      if (!kept.empty() && (random.once_in(4) || fake().begun() == ended)) {
        const auto one = kept.begin() + static_cast<std::ptrdiff_t>(random.between(0, kept.size() - 1));
        fake().end(*one);
        kept.erase(one);
      }
    }
  }
  std::atomic<bool> over_{false};
  std::thread thread_;
};

detail::mpi::Start begins() {
  return detail::mpi::Start::of([](void* request) {
    const FakeLibrary::Inside inside(fake());
    const int number = fake().begin();
    std::memcpy(request, &number, sizeof number);
    return 0;
  });
}

// An operation without a request: it has ended when another thread has ended the one that it looks at.
detail::mpi::Start looks_at(int number) {
  return detail::mpi::Start::of([number](void* ended) {
    const FakeLibrary::Inside inside(fake());
    *static_cast<bool*>(ended) = fake().has_ended(number);
    return 0;
  });
}

// With one thread that may call, the calling thread is that one.
void wait_in_every_way(Level level, std::size_t tasks) {
  fake().set_level(level);
  forget_level();
  const Ender ender(1);
  std::atomic<std::size_t> done{0};
  {
    Runtime runtime(Options{.workers = 4});
    runtime
        .spawn([&] {
          Random random(2);
          for (std::size_t i = 0; i < tasks; ++i) {
            const std::uint64_t way = random.between(0, 6);
            const std::uint64_t count = random.between(1, 5);
            spawn({.io = way == 6}, [way, count, &done] {
              switch (way) {
                case 0:
                  detail::mpi::start_and_bind(Abi::mpich, {}, begins(), nullptr);
                  break;
                case 1:
                  for (std::uint64_t k = 0; k < count; ++k) {
                    detail::mpi::start_and_wait(Abi::mpich, {}, begins(), nullptr);
                  }
                  break;
                case 2: {
                  for (std::uint64_t k = 0; k < count; ++k) {
                    detail::mpi::start_and_bind(Abi::mpich, {}, begins(), nullptr);
                  }
                  detail::mpi::start_and_wait(Abi::mpich, {}, begins(), nullptr);
                  break;
                }
                case 3: {
                  std::vector<int> requests(count);
                  for (int& request : requests) {
                    request = fake().begin();
                  }
                  wait(requests);
                  break;
                }
                case 4:
                  for (std::uint64_t k = 0; k < count; ++k) {
                    const int number = fake().begin();
                    if (detail::mpi::attempt(Abi::mpich, {}, looks_at(number)) != 0 || !fake().has_ended(number)) {
                      std::abort();
                    }
                  }
                  break;
                default: {
                  int request = fake().begin();
                  int status = 0;
                  const int number = request;
                  wait(request, &status);
                  if (status != number) {
                    std::abort();
                  }
                }
              }
              done.fetch_add(1);
            });
          }
        })
        .get();
    runtime.wait();
  }
  EXPECT_EQ(done.load(), tasks);
  EXPECT_FALSE(fake().was_entered_twice());
}

TEST(MessagesStress, OneThreadThatMayCall) {
  wait_in_every_way(Level::funneled, scaled(10'000, 2'000));
  EXPECT_FALSE(fake().was_entered_elsewhere());
}

TEST(MessagesStress, EveryWayOfWaiting) { wait_in_every_way(Level::multiple, scaled(40'000, 4'000)); }

}  // namespace
}  // namespace dovetail::comm::mpi::test
