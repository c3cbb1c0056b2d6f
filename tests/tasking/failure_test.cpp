// Failures: which call is told of which, once, and what is said.
#include "support.hpp"

namespace dovetail::test {
namespace {

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(FailureTest, WaitReportsWhatNobodyTook) {
  Runtime runtime(Options{.workers = 2});
  runtime.spawn({.label = "broken"}, [] { throw Broken("in the body"); });
  const auto failed = failure_of([&] { runtime.wait(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->label(), "broken");
  EXPECT_THROW(std::rethrow_if_nested(*failed), Broken);
  EXPECT_EQ(innermost(*failed), "in the body");
  EXPECT_NE(std::string(failed->what()).find("broken"), std::string::npos);
  EXPECT_NE(std::string(failed->what()).find("in the body"), std::string::npos);
  runtime.wait();
}

TEST(FailureTest, WhatGetTookWaitDoesNotReport) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] { throw Broken("taken"); });
  EXPECT_TRUE(failure_of([&] { future.get(); }));
  runtime.wait();
}

TEST(FailureTest, FutureWaitTakesNothing) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] { throw Broken("not taken"); });
  future.wait();
  EXPECT_TRUE(failure_of([&] { runtime.wait(); }));
  EXPECT_TRUE(failure_of([&] { future.get(); })) << "told again to who asks for this task";
}

TEST(FailureTest, LaterOnesStayForTheNextWait) {
  Runtime runtime(Options{.workers = 1});
  for (int i = 0; i < 5; ++i) {
    runtime.spawn({.label = std::to_string(i)}, [] { throw Broken("each"); });
    runtime.spawn([] {});
  }
  std::vector<std::string> labels;
  while (const auto failed = failure_of([&] { runtime.wait(); })) {
    labels.push_back(failed->label());
  }
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(FailureTest, TheParentMayTake) {
  Runtime runtime(Options{.workers = 2});
  runtime.spawn([] {
    spawn({.label = "child"}, [] { throw Broken("by wait"); });
    const auto failed = failure_of([] { wait(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->label(), "child");
    wait();
    auto future = spawn([] { throw Broken("by get"); });
    EXPECT_TRUE(failure_of([&] { future.get(); }));
    wait();
  });
  runtime.wait();
}

TEST(FailureTest, WhatTheParentDoesNotTakeIsItsOwn) {
  Runtime runtime(Options{.workers = 2});
  auto parent = runtime.spawn({.label = "parent"}, [] {
    spawn({.label = "middle"}, [] { spawn({.label = "leaf"}, [] { throw Broken("deep below"); }); });
  });
  const auto failed = failure_of([&] { parent.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "deep below");
  EXPECT_NE(std::string(failed->what()).find("leaf"), std::string::npos) << failed->what();
  runtime.wait();
}

TEST(FailureTest, NothingIsLostOfSeveralChildren) {
  // A parent can have one failure of its own; the others go on to the task or thread that waits above it.
  Runtime runtime(Options{.workers = 2});
  for (const bool parent_throws : {false, true}) {
    runtime.spawn({.label = "parent"}, [parent_throws] {
      for (int i = 0; i < 3; ++i) {
        spawn({.label = "child " + std::to_string(i)}, [] { throw Broken("each of them"); });
      }
      if (parent_throws) {
        throw Broken("the parent too");
      }
    });
    std::vector<std::string> labels;
    while (const auto failed = failure_of([&] { runtime.wait(); })) {
      labels.push_back(failed->label());
    }
    std::sort(labels.begin(), labels.end());
    std::vector<std::string> expected{"child 0", "child 1", "child 2"};
    if (parent_throws) {
      expected.push_back("parent");
    }
    EXPECT_EQ(labels, expected);
  }
}

TEST(FailureTest, AParentThatRethrowsReportsOneFailure) {
  Runtime runtime(Options{.workers = 2});
  runtime.spawn({.label = "parent"}, [] {
    spawn({.label = "child"}, [] { throw Broken("the cause"); });
    wait();
  });
  const auto failed = failure_of([&] { runtime.wait(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->label(), "parent");
  try {
    std::rethrow_if_nested(*failed);
    FAIL();
  } catch (const TaskFailed& child) {
    EXPECT_EQ(child.label(), "child");
    EXPECT_THROW(std::rethrow_if_nested(child), Broken);
  }
  EXPECT_EQ(innermost(*failed), "the cause");
  runtime.wait();
}

TEST(FailureTest, SuccessorsAreCancelled) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 200; ++i) {
    int data = 0;
    int other = 0;
    std::atomic<int> ran{0};
    runtime.spawn({.label = "first", .access = {out(data)}}, [] { throw Broken("the origin"); });
    auto reader = runtime.spawn({.label = "reader", .access = {in(data), out(other)}}, [&] { ran.fetch_add(1); });
    auto last = runtime.spawn({.label = "last", .access = {in(other)}}, [&] { ran.fetch_add(1); });
    auto failed = failure_of([&] { last.get(); });
    ASSERT_TRUE(failed);
    EXPECT_TRUE(failed->cancelled());
    EXPECT_EQ(failed->label(), "last");
    EXPECT_EQ(innermost(*failed), "the origin");
    failed = failure_of([&] { reader.get(); });
    ASSERT_TRUE(failed);
    EXPECT_TRUE(failed->cancelled());
    EXPECT_EQ(ran.load(), 0);
    // The origin counts as told by what it caused.
    runtime.wait();
  }
}

TEST(FailureTest, ASuccessorSpawnedLaterIsCancelledToo) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  auto first = runtime.spawn({.access = {out(data)}}, [] { throw Broken("long ago"); });
  first.wait();
  for (int i = 0; i < 100; ++i) {  // readers, more than are kept
    runtime.spawn({.access = {in(data)}}, [] { ADD_FAILURE() << "ran on data that nobody made"; }).wait();
  }
  bool ran = false;
  auto later = runtime.spawn({.access = {inout(data)}}, [&] { ran = true; });
  const auto failed = failure_of([&] { later.get(); });
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->cancelled());
  EXPECT_EQ(innermost(*failed), "long ago");
  EXPECT_FALSE(ran);
}

TEST(FailureTest, OverlappingRegionsToo) {
  Runtime runtime(Options{.workers = 2});
  std::vector<int> data(10);
  const std::span all(data);
  runtime.spawn({.access = {out(all.subspan(0, 6))}}, [] { throw Broken("a part"); }).wait();
  auto overlapping = runtime.spawn({.access = {in(all.subspan(4, 4))}}, [] { ADD_FAILURE(); });
  auto beside = runtime.spawn({.access = {in(all.subspan(6, 4))}}, [] {});
  EXPECT_TRUE(failure_of([&] { overlapping.get(); }));
  beside.get();
}

TEST(FailureTest, OverwritingMakesDataSoundAgain) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 200; ++i) {
    int data = 0;
    runtime.spawn({.access = {out(data)}}, [] { throw Broken("on purpose"); });
    auto cancelled = runtime.spawn({.access = {in(data)}}, [] { ADD_FAILURE(); });
    auto overwriting = runtime.spawn({.access = {out(data)}}, [&] { data = 5; });
    auto reader = runtime.spawn({.access = {in(data)}}, [&] { return data; });
    EXPECT_EQ(reader.get(), 5);
    overwriting.get();
    EXPECT_TRUE(failure_of([&] { cancelled.get(); }));
  }
}

TEST(FailureTest, ReadersOfTheSameDataDoNotInfectEachOther) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  runtime.spawn({.access = {out(data)}}, [&] { data = 1; });
  auto broken = runtime.spawn({.access = {in(data)}}, [] { throw Broken("a reader"); });
  auto reader = runtime.spawn({.access = {in(data)}}, [&] { return data; });
  auto writer = runtime.spawn({.access = {inout(data)}}, [&] { return ++data; });
  EXPECT_EQ(reader.get(), 1);
  EXPECT_EQ(writer.get(), 2) << "what it reads was produced";
  EXPECT_TRUE(failure_of([&] { broken.get(); }));
}

TEST(FailureTest, OfSeveralPredecessorsItMattersWhichOneFails) {
  // The successor is linked to both while neither has run, in either order.
  for (const bool reader_first : {false, true}) {
    for (const bool reader_fails : {false, true}) {
      Runtime runtime(Options{.workers = 1});
      std::vector<int> data(2);
      const std::span all(data);
      bool ran = false;
      runtime.spawn([&] {
        spawn({.access = {in(all.subspan(reader_first ? 0 : 1, 1))}}, [&] {
          if (reader_fails) {
            throw Broken("a reader");
          }
        });
        spawn({.access = {out(all.subspan(reader_first ? 1 : 0, 1))}}, [&] {
          if (!reader_fails) {
            throw Broken("a writer");
          }
        });
        spawn({.access = {inout(all)}}, [&] { ran = true; });
        EXPECT_TRUE(failure_of([] { wait(); }));
      });
      runtime.wait();
      EXPECT_EQ(ran, reader_fails) << "reader first: " << reader_first;
    }
  }
}

TEST(FailureTest, WaitForgives) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  runtime.spawn({.access = {out(data)}}, [] { throw Broken("before the wait"); });
  EXPECT_TRUE(failure_of([&] { runtime.wait(); }));
  EXPECT_EQ(runtime.spawn({.access = {inout(data)}}, [&] { return 3; }).get(), 3);
}

// As statements behind a `catch` run. The memory may be that of new data.
TEST(FailureTest, WhatGetTookIsForgiven) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 100; ++i) {
    int data = 0;
    auto failed = runtime.spawn({.access = {inout(data)}}, [] { throw Broken("is told"); });
    EXPECT_TRUE(failure_of([&] { failed.get(); }));
    EXPECT_EQ(runtime.spawn({.access = {inout(data)}}, [&] { return ++data; }).get(), 1);
    EXPECT_EQ(runtime.spawn({.access = {in(data)}}, [&] { return data; }).get(), 1);
  }
}

// These failures were not told.
TEST(FailureTest, WhatOthersDidNotProduceStaysBad) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  int result = 0;
  auto origin = runtime.spawn({.access = {out(data)}}, [] { throw Broken("is told"); });
  auto between = runtime.spawn({.access = {in(data), out(result)}}, [&] { result = 1; });
  between.wait();
  EXPECT_TRUE(failure_of([&] { origin.get(); }));
  auto reader = runtime.spawn({.access = {in(result)}}, [] { ADD_FAILURE() << "ran on data that nobody made"; });
  EXPECT_TRUE(failure_of([&] { reader.get(); }));
  EXPECT_TRUE(failure_of([&] { between.get(); }));
  runtime.spawn({.access = {in(result)}}, [] {}).get();
}

// That a task was cancelled because of it is no answer to a task that asks for the data.
TEST(FailureTest, WhatACancelledTaskTellsForgivesNothingElse) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  const auto read = [&] { return runtime.spawn({.access = {in(data)}}, [] {}); };
  auto origin = runtime.spawn({.access = {out(data)}}, [] { throw Broken("the origin"); });
  for (int i = 0; i < 3; ++i) {
    auto reader = read();
    EXPECT_TRUE(failure_of([&] { reader.get(); }));
  }
  EXPECT_TRUE(failure_of([&] { origin.get(); }));
  read().get();
}

TEST(FailureTest, AnIgnoredFailure) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  auto first = runtime.spawn({.access = {out(data)}, .on_failure = ignore_failure}, [] { throw Broken("never mind"); });
  auto second = runtime.spawn({.access = {in(data)}}, [] { return 4; });
  EXPECT_EQ(second.get(), 4);
  runtime.wait();
  EXPECT_TRUE(failure_of([&] { first.get(); })) << "get is told all the same";
}

TEST(FailureTest, IgnoringDoesNotCoverWhatCameFromBefore) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  runtime.spawn({.access = {out(data)}}, [] { throw Broken("the origin"); });
  auto second = runtime.spawn({.access = {inout(data)}, .on_failure = ignore_failure}, [] { ADD_FAILURE(); });
  auto third = runtime.spawn({.access = {in(data)}}, [] { ADD_FAILURE(); });
  EXPECT_TRUE(failure_of([&] { third.get(); }));
  EXPECT_TRUE(failure_of([&] { second.get(); }));
}

TEST(FailureTest, ALongChainOfCancelledTasks) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  int data = 0;
  runtime.spawn({.label = "origin", .access = {out(data)}}, [&] {
    gate.pass();
    throw Broken("the origin");
  });
  Future<void> last;
  const std::size_t count = scaled(10'000, 2'000);
  for (std::size_t i = 0; i < count; ++i) {
    last = runtime.spawn({.access = {inout(data)}}, [] { ADD_FAILURE(); });
  }
  gate.open();
  EXPECT_TRUE(failure_of([&] { last.get(); }));
  runtime.wait();
}

TEST(FailureTest, WhatIsNotAnExceptionObject) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn({.label = "odd"}, [] { throw 42; });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_THROW(std::rethrow_if_nested(*failed), int);
}

TEST(FailureTest, AtTheEndStandardErrorIsTold) {
  const auto outcome = run_in_child([] {
    Runtime runtime(Options{.workers = 2});
    runtime.spawn({.label = "unheard"}, [] { throw Broken("nobody asked"); });
    auto taken = runtime.spawn({.label = "heard"}, [] { throw Broken("somebody asked"); });
    failure_of([&] { taken.get(); });
    runtime.spawn({.label = "ignored", .on_failure = ignore_failure}, [] { throw Broken("never mind"); });
    return 0;
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.error.find("unheard"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("nobody asked"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("heard", outcome.error.find("unheard") + 7), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("never mind"), std::string::npos) << outcome.error;
}

TEST(FailureTest, IoErrorSaysWhatAndWhere) {
  const IoError error(ENOSPC, "pwrite", "/some/file", 4096, 512);
  EXPECT_EQ(error.code().value(), ENOSPC);
  EXPECT_EQ(error.operation(), "pwrite");
  EXPECT_EQ(error.path(), "/some/file");
  EXPECT_EQ(error.offset(), 4096U);
  EXPECT_EQ(error.length(), 512U);
  for (const char* part : {"pwrite", "/some/file", "4096", "512", "No space left"}) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

// The order in which a task names its accesses means nothing, also when what it reads was not produced.
TEST(FailureTest, WhatIsReadAndOverwrittenIsReadFirst) {
  const auto region = [](const long* data, std::size_t count, AccessMode mode) {
    return Access{{0, reinterpret_cast<std::uint64_t>(data), count * sizeof *data}, mode};
  };
  long data[4] = {};
  const AccessList orders[] = {
      {region(data, 4, AccessMode::in), region(data, 4, AccessMode::out)},
      {region(data, 4, AccessMode::out), region(data, 4, AccessMode::in)},
      {region(data, 4, AccessMode::out), region(data + 1, 1, AccessMode::in)},
      {region(data + 1, 1, AccessMode::in), region(data, 4, AccessMode::out)},
      {region(data + 1, 1, AccessMode::out), region(data, 4, AccessMode::in)},
      {region(data, 2, AccessMode::out), region(data + 1, 2, AccessMode::inout)},
      {region(data, 4, AccessMode::out), region(data + 1, 1, AccessMode::commutative)},
  };
  for (const bool producer_is_over : {false, true}) {
    for (const AccessList& order : orders) {
      SCOPED_TRACE("order " + std::to_string(&order - orders) + (producer_is_over ? ", the producer is over" : ""));
      Runtime runtime(Options{.workers = 2});
      Gate gate;
      auto producer = runtime.spawn({.label = "producer", .access = {out(data)}}, [&] {
        gate.pass();
        throw std::runtime_error("no data");
      });
      if (producer_is_over) {
        gate.open();
        producer.wait();
      }
      std::atomic<bool> ran{false};
      runtime.spawn({.label = "consumer", .access = order}, [&] { ran = true; });
      if (!producer_is_over) {
        gate.open();
      }
      EXPECT_TRUE(failure_of([&] { runtime.wait(); }));
      EXPECT_FALSE(ran.load());
    }
  }
}

}  // namespace
}  // namespace dovetail::test
