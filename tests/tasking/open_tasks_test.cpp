// I/O tasks without a constraint: few run at once while they use files; while they wait for each other, more are started.
#include "tasking/open_tasks.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

#include "support.hpp"

namespace dovetail::test {
namespace {

using tasking::Activity;
using tasking::activity_of;
using tasking::OpenPlaces;
using namespace std::chrono_literals;

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

/// A file that is locked, in one of the two ways.
class LockedFile {
 public:
  explicit LockedFile(bool record) : record_(record) {
    const std::string path = "/proc/self/fd/" + std::to_string(fileno(file_));
    other_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    lock(fileno(file_), F_WRLCK);
  }
  ~LockedFile() {
    close(other_);
    std::fclose(file_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  void wait_for_lock() const { lock(other_, F_WRLCK); }
  void unlock() const { lock(fileno(file_), F_UNLCK); }

 private:
  void lock(int descriptor, short type) const {
    struct flock range{type, SEEK_SET, 0, 0, 0};
    EXPECT_EQ(
        record_ ? fcntl(descriptor, F_OFD_SETLKW, &range) : flock(descriptor, type == F_UNLCK ? LOCK_UN : LOCK_EX), 0);
  }
  const bool record_;
  std::FILE* const file_ = std::tmpfile();
  int other_ = -1;
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

// Another task may hold it, which has no place yet.
TEST(ActivityTest, WaitsForALockOfAFile) {
  for (const bool record : {false, true}) {
    const LockedFile file(record);
    expect_activity(Activity::waits, [&] { file.wait_for_lock(); }, [&] { file.unlock(); });
  }
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

struct Ready {
  std::int32_t priority = 0;
  Ready* next = nullptr;
};

/// Places that are all taken, and tasks that wait for one.
class Crowd {
 public:
  Crowd(std::size_t first, std::size_t most, std::size_t waiting = 100) : places(first, most), ready_(first + waiting) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      EXPECT_EQ(places.take(ready_[i]), i < first) << i;
    }
    EXPECT_FALSE(grows(Activity::waits, false)) << "the first look at them";
  }
  /// Whether a look that finds this makes one more place.
  bool grows(Activity busiest, bool all_have_begun = true) {
    return places.look(all_have_begun, [&] { return busiest; }) != nullptr;
  }

  OpenPlaces<Ready> places;

 private:
  std::vector<Ready> ready_;
};

TEST(OpenPlacesTest, OneMoreWheneverAllWait) {
  Crowd crowd(4, 7);
  for (int more = 0; more < 3; ++more) {
    EXPECT_EQ(crowd.places.until_next_look(), 20ms);
    EXPECT_TRUE(crowd.grows(Activity::waits));
  }
  EXPECT_FALSE(crowd.grows(Activity::waits)) << "there are no more threads";
  EXPECT_EQ(crowd.places.until_next_look(), 200ms) << "only to see whether one uses a file";
}

TEST(OpenPlacesTest, AreLookedAtWhileTasksWaitAndThereMayBeMore) {
  EXPECT_FALSE(Crowd(4, 7, 0).places.needs_looks());
  EXPECT_FALSE(Crowd(7, 7, 1).places.needs_looks());
  Crowd crowd(4, 7, 1);
  EXPECT_TRUE(crowd.places.needs_looks());
  EXPECT_NE(crowd.places.give_back(), nullptr);
  EXPECT_FALSE(crowd.places.needs_looks());
}

TEST(OpenPlacesTest, NoneWhileOneHasAPlaceAndHasNotBegun) {
  Crowd crowd(4, 7);
  for (int look = 0; look < 1000; ++look) {
    EXPECT_FALSE(crowd.grows(Activity::waits, false));
  }
  EXPECT_TRUE(crowd.grows(Activity::waits));
}

TEST(OpenPlacesTest, NoneWhileTasksEnd) {
  Crowd crowd(4, 7, 2000);
  for (int look = 0; look < 1000; ++look) {
    EXPECT_NE(crowd.places.ended(), nullptr) << "the next one has its place";
    EXPECT_FALSE(crowd.grows(Activity::waits));
  }
  EXPECT_TRUE(crowd.grows(Activity::waits));
}

TEST(OpenPlacesTest, WhatTheTasksDoIsNotAskedWhileItMattersNot) {
  Crowd crowd(4, 7);
  crowd.places.ended();
  crowd.places.look(true, [] {
    ADD_FAILURE() << "one has ended";
    return Activity::waits;
  });
}

TEST(OpenPlacesTest, AfterASecondIfOneComputes) {
  constexpr int looks = 50;
  Crowd crowd(4, 7);
  for (int look = 1; look < looks; ++look) {
    ASSERT_FALSE(crowd.grows(Activity::computes)) << "look " << look;
  }
  EXPECT_TRUE(crowd.grows(Activity::computes));
  EXPECT_FALSE(crowd.grows(Activity::computes)) << "and as long for the next";
  // An end begins the wait anew, and so does a use of a file.
  const std::function<void()> begins_anew[] = {[&] { EXPECT_NE(crowd.places.ended(), nullptr); },
                                               [&] { EXPECT_FALSE(crowd.grows(Activity::uses_a_file)); }};
  for (const auto& happens : begins_anew) {
    for (int look = 0; look + 2 < looks; ++look) {
      ASSERT_FALSE(crowd.grows(Activity::computes));
    }
    happens();
    EXPECT_FALSE(crowd.grows(Activity::computes));
    EXPECT_FALSE(crowd.grows(Activity::computes));
  }
}

// A write may take long because there are many: more of them would make it longer still.
TEST(OpenPlacesTest, NeverWhileOneUsesAFileHoweverLongItTakes) {
  Crowd crowd(4, 64);
  for (int look = 0; look < 100'000; ++look) {
    ASSERT_FALSE(crowd.grows(Activity::uses_a_file)) << "look " << look;
  }
  EXPECT_TRUE(crowd.grows(Activity::waits));
}

TEST(OpenPlacesTest, ThoseThatWereAddedAreGoneWhenOneUsesAFile) {
  Crowd crowd(4, 16);
  for (int more = 0; more < 6; ++more) {
    ASSERT_TRUE(crowd.grows(Activity::waits));
  }
  EXPECT_NE(crowd.places.ended(), nullptr) << "there are ten";
  EXPECT_FALSE(crowd.grows(Activity::uses_a_file)) << "it is asked, since there are more than in the beginning";
  for (int over = 0; over < 6; ++over) {
    EXPECT_EQ(crowd.places.give_back(), nullptr) << "four are taken";
  }
  EXPECT_NE(crowd.places.give_back(), nullptr);
}

TEST(OpenPlacesTest, AndWhenNobodyWaits) {
  Crowd crowd(2, 16, 2);
  ASSERT_TRUE(crowd.grows(Activity::waits));
  EXPECT_NE(crowd.places.give_back(), nullptr) << "there are three";
  Ready late;
  EXPECT_FALSE(crowd.places.take(late));
  EXPECT_EQ(crowd.places.give_back(), nullptr) << "there are two, and two are taken";
  EXPECT_EQ(crowd.places.give_back(), &late);
}

TEST(OpenPlacesTest, WhoComesBackFromAPauseDoesNotWaitForOne) {
  Crowd crowd(2, 4);
  EXPECT_NE(crowd.places.give_back(), nullptr);
  crowd.places.take_again();
  EXPECT_EQ(crowd.places.give_back(), nullptr) << "two are still taken";
  crowd.places.take_again();
  EXPECT_TRUE(crowd.grows(Activity::waits)) << "one more than are taken";
  EXPECT_NE(crowd.places.ended(), nullptr) << "and it stays";
}

TEST(OpenPlacesTest, AreForTheMostUrgentAndInTurnForEachPriority) {
  OpenPlaces<Ready> places(1, 1);
  std::array<Ready, 40> ready{};
  EXPECT_TRUE(places.take(ready[0]));
  for (std::size_t i = 1; i < ready.size(); ++i) {
    ready[i].priority = i == 1 ? 0 : 1;
    EXPECT_FALSE(places.take(ready[i]));
  }
  EXPECT_EQ(places.ended(), &ready[2]);
  int before = 1;
  while (places.ended() != &ready[1]) {
    ASSERT_LE(++before, 16);
  }
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
  for (int look = 0; look < 600 && !testing::Test::HasFailure(); ++look) {  // as often as in twelve seconds
    runtime.core().executors->look();
    EXPECT_EQ(activity_of(writer.load()), Activity::uses_a_file);
    EXPECT_EQ(others.load(), 3) << "look " << look;
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

TEST(OpenTasksTest, MayWaitForALockThatAnotherOneGivesBack) {
  Runtime runtime(Options{.workers = 1});
  const LockedFile file(true);
  std::atomic<int> waiting{0};
  for (int i = 0; i < 4; ++i) {
    runtime.spawn({.io = true}, [&] {
      waiting.fetch_add(1);
      file.wait_for_lock();
    });
  }
  await([&] { return waiting.load() == 4; });
  runtime.spawn({.io = true}, [&] { file.unlock(); });
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
