// I/O tasks without a constraint: few run at once while they use files; while they wait for each other, more are started.
#include "tasking/open_tasks.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <future>
#include <thread>

#include "support.hpp"
#include "tasking/core.hpp"

namespace dovetail::test {
namespace {

using tasking::Activity;
using tasking::activity_of;
using tasking::OpenPlaces;

pid_t this_thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// A page of memory that the kernel does not have until the test calls `give`. Until then a write of this page waits.
class MissingPage {
 public:
  MissingPage() {
    uffdio_api interface{UFFD_API, 0, 0};
    uffdio_register missing{range(), UFFDIO_REGISTER_MODE_MISSING, 0};
    works_ =
        faults_ >= 0 && ioctl(faults_, UFFDIO_API, &interface) == 0 && ioctl(faults_, UFFDIO_REGISTER, &missing) == 0;
  }
  ~MissingPage() {
    munmap(page_, size_);
    close(faults_);
    std::fclose(file_);
  }
  MissingPage(const MissingPage&) = delete;
  MissingPage& operator=(const MissingPage&) = delete;
  /// False where the kernel does not let this user do so.
  bool works() const noexcept { return works_; }
  void write(bool placed) const {
    const ssize_t written = placed ? ::pwrite(fileno(file_), page_, size_, 0) : ::write(fileno(file_), page_, size_);
    EXPECT_EQ(written, static_cast<ssize_t>(size_));
  }
  void give() const {
    uffdio_zeropage zeros{range(), 0, 0};
    EXPECT_EQ(ioctl(faults_, UFFDIO_ZEROPAGE, &zeros), 0);
  }

 private:
  uffdio_range range() const noexcept { return {reinterpret_cast<std::uintptr_t>(page_), size_}; }
  const std::size_t size_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int faults_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
  std::FILE* const file_ = std::tmpfile();
  bool works_ = false;
};

/// Runs `body` on a thread of its own until it is seen to do that, then `end`.
void expect_activity(Activity awaited, const std::function<void()>& body, const std::function<void()>& end) {
  std::promise<pid_t> begun;
  std::thread thread([&] {
    begun.set_value(this_thread_id());
    body();
  });
  const pid_t id = begun.get_future().get();
  await([&] { return activity_of(id) == awaited; });
  end();
  thread.join();
}

TEST(ActivityTest, Computes) {
  std::atomic<bool> stop{false};
  const auto spin = [&] {
    while (!stop.load()) {
    }
  };
  expect_activity(Activity::computes, spin, [&] { stop = true; });
}

TEST(ActivityTest, WaitsForAnotherThread) {
  std::promise<void> go;
  expect_activity(Activity::waits, [&] { go.get_future().get(); }, [&] { go.set_value(); });
}

TEST(ActivityTest, WaitsForAnotherThreadInARead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  char byte = 0;
  expect_activity(
      Activity::waits, [&] { EXPECT_EQ(::read(ends[0], &byte, 1), 1); },
      [&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); });
  close(ends[0]);
  close(ends[1]);
}

TEST(ActivityTest, UsesAFile) {
  for (const bool placed : {false, true}) {
    const MissingPage page;
    if (!page.works()) {
      GTEST_SKIP() << "the kernel gives no userfaultfd to this user";
    }
    expect_activity(Activity::uses_a_file, [&] { page.write(placed); }, [&] { page.give(); });
  }
}

TEST(ActivityTest, NothingIsKnownOfAThreadThatIsNot) {
  pid_t id = 0;
  std::thread([&] { id = this_thread_id(); }).join();
  await([&] { return activity_of(id) == Activity::waits; });
}

TEST(OpenTasksTest, BeginWithTwiceTheWorkersOrWhatTheProgramSays) {
  EXPECT_EQ(tasking::places_to_begin_with({.workers = 3, .io_executors = 64}), 6U);
  EXPECT_EQ(tasking::places_to_begin_with({.workers = 1, .io_executors = 64}), 4U);
  EXPECT_EQ(tasking::places_to_begin_with({.workers = 2, .io_executors = 11}), 11U);
}

// A look that finds that all have begun, and the busiest of them doing that.
bool grows(OpenPlaces& places, Activity busiest) { return places.worth_looking(true) && places.look(busiest); }

OpenPlaces all_taken(std::size_t first, std::size_t most) {
  OpenPlaces places(first, most);
  for (std::size_t i = 0; i < first; ++i) {
    EXPECT_TRUE(places.take());
  }
  EXPECT_FALSE(places.take());
  EXPECT_TRUE(places.worth_looking(true));  // the first look at them
  return places;
}

TEST(OpenPlacesTest, OneMoreWheneverAllWait) {
  OpenPlaces places = all_taken(4, 7);
  for (int more = 0; more < 3; ++more) {
    EXPECT_TRUE(grows(places, Activity::waits));
    EXPECT_FALSE(places.take()) << "it is taken already";
  }
  EXPECT_FALSE(grows(places, Activity::waits)) << "there are no more threads";
}

TEST(OpenPlacesTest, NoneWhileOneHasAPlaceAndHasNotBegun) {
  OpenPlaces places = all_taken(4, 7);
  for (int look = 0; look < 1000; ++look) {
    EXPECT_FALSE(places.worth_looking(false));
  }
  EXPECT_TRUE(grows(places, Activity::waits));
}

TEST(OpenPlacesTest, NoneWhileTasksEnd) {
  OpenPlaces places = all_taken(4, 7);
  for (int look = 0; look < 1000; ++look) {
    places.ended();
    EXPECT_FALSE(places.worth_looking(true));
  }
  EXPECT_TRUE(grows(places, Activity::waits));
}

TEST(OpenPlacesTest, AfterASecondIfOneComputesAndAfterTenIfOneUsesAFile) {
  for (const auto& [activity, looks] : {std::pair{Activity::computes, 50}, {Activity::uses_a_file, 500}}) {
    OpenPlaces places = all_taken(4, 7);
    for (int look = 2; look < looks; ++look) {
      ASSERT_FALSE(grows(places, activity)) << "look " << look << " of " << looks;
    }
    EXPECT_TRUE(grows(places, activity)) << looks;
    EXPECT_FALSE(grows(places, activity)) << "and as long for the next";
    // An end begins the wait anew.
    for (int look = 0; look + 2 < looks; ++look) {
      ASSERT_FALSE(grows(places, activity));
    }
    places.ended();
    EXPECT_FALSE(grows(places, activity));
    EXPECT_FALSE(grows(places, activity));
  }
}

TEST(OpenPlacesTest, ThoseThatWereAddedAreGoneWhenOneUsesAFile) {
  OpenPlaces places = all_taken(4, 16);
  for (int more = 0; more < 6; ++more) {
    ASSERT_TRUE(grows(places, Activity::waits));
  }
  places.ended();
  EXPECT_TRUE(places.worth_looking(true)) << "there are more than in the beginning";
  EXPECT_FALSE(places.look(Activity::uses_a_file));
  for (int over = 0; over < 6; ++over) {
    places.give_back();
    EXPECT_FALSE(places.take()) << "four are taken";
  }
  places.give_back();
  EXPECT_TRUE(places.take());
}

TEST(OpenPlacesTest, AndWhenNobodyWaits) {
  OpenPlaces places = all_taken(2, 16);
  ASSERT_TRUE(grows(places, Activity::waits));
  places.give_back();
  EXPECT_TRUE(places.take()) << "there are three";
  places.nobody_waits();
  places.give_back();
  EXPECT_FALSE(places.take());
}

TEST(OpenPlacesTest, WhoComesBackFromAPauseDoesNotWaitForOne) {
  OpenPlaces places = all_taken(2, 4);
  places.give_back();
  EXPECT_TRUE(places.take());
  places.take_again();
  EXPECT_FALSE(places.take());
  places.give_back();
  EXPECT_FALSE(places.take()) << "two are still taken";
  EXPECT_TRUE(grows(places, Activity::waits)) << "one more than are taken";
}

TEST(OpenTasksTest, AreNoMoreWhileOneUsesAFile) {
  const MissingPage page;
  if (!page.works()) {
    GTEST_SKIP() << "the kernel gives no userfaultfd to this user";
  }
  Runtime runtime(Options{.workers = 1});
  std::atomic<pid_t> writer{0};
  std::atomic<int> others{0};
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  runtime.spawn({.io = true}, [&] {
    writer = this_thread_id();
    page.write(true);
  });
  await([&] { return writer.load() != 0 && activity_of(writer.load()) == Activity::uses_a_file; });
  for (int i = 0; i < 5; ++i) {
    runtime.spawn({.io = true}, [&] {
      others.fetch_add(1);
      gone.wait();
    });
  }
  await([&] { return others.load() == 3; });
  for (int look = 0; look < 200; ++look) {
    runtime.core().executors->look();
    ASSERT_EQ(others.load(), 3) << "look " << look;
  }
  page.give();
  await([&] { return others.load() == 5; });  // one in the place of the writer, one more since now all wait
  go.set_value();
  runtime.wait();
}

TEST(OpenTasksTest, MayAllWaitForEachOther) {
  constexpr int together = 40;
  Runtime runtime(Options{.workers = 2});
  for (int round = 0; round < 2; ++round) {
    std::barrier all(together);
    for (int i = 0; i < together; ++i) {
      runtime.spawn({.io = true}, [&] { all.arrive_and_wait(); });
    }
    runtime.wait();
  }
}

TEST(OpenTasksTest, MaySpinUntilAllAreThere) {
  constexpr int together = 6;
  Runtime runtime(Options{.workers = 1});
  std::atomic<int> there{0};
  for (int i = 0; i < together; ++i) {
    runtime.spawn({.io = true}, [&] {
      there.fetch_add(1);
      while (there.load() < together) {
        std::this_thread::yield();
      }
    });
  }
  runtime.wait();
}

TEST(OpenTasksTest, MayWaitForAWorkerThatWaitsForThem) {
  constexpr int together = 12;
  Runtime runtime(Options{.workers = 1});
  std::barrier all(together + 1);
  std::promise<void> spawned;
  runtime.spawn([&] {
    spawned.get_future().get();
    all.arrive_and_wait();
  });
  for (int i = 0; i < together; ++i) {
    runtime.spawn({.io = true}, [&] { all.arrive_and_wait(); });
  }
  spawned.set_value();
  runtime.wait();
}

TEST(OpenTasksTest, AreFewAgainWhenAllAreOver) {
  Runtime runtime(Options{.workers = 1});
  std::barrier all(12);
  for (int i = 0; i < 12; ++i) {
    runtime.spawn({.io = true}, [&] { all.arrive_and_wait(); });
  }
  runtime.wait();
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn({.io = true}, [&] {
      const int now = running.fetch_add(1) + 1;
      for (int seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      running.fetch_sub(1);
    });
  }
  runtime.wait();
  EXPECT_LE(most.load(), 4);
}

TEST(OpenTasksTest, TheMostUrgentGetsThePlace) {
  Runtime runtime(Options{.workers = 1, .io_executors = 1});
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::mutex mutex;
  std::vector<int> order;
  runtime.spawn({.io = true}, [&] { gone.wait(); });
  std::vector<Future<void>> tasks;
  for (const int priority : {0, 2, 1}) {
    tasks.push_back(runtime.spawn({.priority = priority, .io = true}, [&, priority] {
      const std::lock_guard lock(mutex);
      order.push_back(priority);
    }));
  }
  await([&] { return runtime.core().executors->busy() == 4; });
  go.set_value();
  runtime.wait();
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

// What a task without constraint waits for in Dovetail may need an executor, too.
TEST(OpenTasksTest, ThatWaitForTheirChildrenLeaveTheirPlaces) {
  Runtime runtime(Options{.workers = 1, .io_executors = 2});
  std::atomic<int> children{0};
  for (int i = 0; i < 8; ++i) {
    runtime.spawn({.io = true}, [&] {
      for (int child = 0; child < 4; ++child) {
        spawn({.io = true}, [&] { children.fetch_add(1); });
      }
      wait();
    });
  }
  runtime.wait();
  EXPECT_EQ(children.load(), 32);
}

}  // namespace
}  // namespace dovetail::test
