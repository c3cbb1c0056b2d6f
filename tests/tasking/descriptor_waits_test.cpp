// Waits for descriptors by themselves: what is delivered to which wait, what is refused, and what is left behind.
#include "tasking/descriptor_waits.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>

#include "support.hpp"

namespace dovetail::tasking {
namespace {

using End = DescriptorWait::End;

// The lowest number that the next descriptor gets.
int next_descriptor() {
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(next);
  return next;
}

class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  ~SocketPair() {
    close(ends_[0]);
    close_other();
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  int end() const { return ends_[0]; }
  // Until nothing more can be written to this end.
  void fill() const {
    while (write(ends_[0], block_.data(), block_.size()) > 0) {
    }
  }
  // Until something can.
  void drain() {
    while (read(ends_[1], block_.data(), block_.size()) > 0) {
    }
  }
  void send() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void close_other() {
    if (ends_[1] >= 0) {
      close(std::exchange(ends_[1], -1));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::array<char, 4096> block_{};
};

class DescriptorWaitsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(waits_.start(), 0); }
  // One that counts how often it is told that the descriptor is ready.
  std::shared_ptr<DescriptorWait> add(int descriptor, std::uint32_t events) {
    auto wait = make(descriptor, events);
    EXPECT_EQ(waits_.add(wait), 0);
    return wait;
  }
  std::shared_ptr<DescriptorWait> make(int descriptor, std::uint32_t events) {
    auto wait = std::make_shared<DescriptorWait>();
    wait->descriptor = descriptor;
    wait->events = events;
    wait->ready = [this] { ++told_; };
    return wait;
  }
  bool look() { return waits_.wait(base::Clock::now()); }
  // Nothing ends the sleep but what is ready.
  void wait_for_delivery() {
    while (!waits_.wait(base::TimePoint::max())) {
    }
  }

  DescriptorWaits waits_;
  int told_ = 0;
};

TEST_F(DescriptorWaitsTest, WhatIsReadyIsDeliveredOnce) {
  EXPECT_TRUE(waits_.ready());
  EXPECT_FALSE(waits_.in_use());
  const test::Pipe pipe;
  const auto wait = add(pipe.reader(), EPOLLIN);
  EXPECT_TRUE(waits_.in_use());
  EXPECT_FALSE(look());
  EXPECT_EQ(wait->end, End::none);
  pipe.write_one('a');
  wait_for_delivery();
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(wait->end, End::ready);
  EXPECT_FALSE(waits_.in_use());
  EXPECT_FALSE(look()) << "nobody waits any more";
  EXPECT_EQ(told_, 1);
}

TEST_F(DescriptorWaitsTest, AWaitForRoomIsNotDisturbedByData) {
  SocketPair pair;
  pair.fill();
  pair.send();
  add(pair.end(), EPOLLOUT);
  EXPECT_FALSE(look()) << "it can be read, which nobody asked for";
  EXPECT_EQ(told_, 0);
  pair.drain();
  wait_for_delivery();
  EXPECT_EQ(told_, 1);
}

TEST_F(DescriptorWaitsTest, TwoWaitsForOneDescriptorEndEachInItsTime) {
  SocketPair pair;
  pair.fill();
  const auto room = add(pair.end(), EPOLLOUT);
  const auto data = add(pair.end(), EPOLLIN);
  EXPECT_FALSE(look());
  pair.send();
  wait_for_delivery();
  EXPECT_EQ(data->end, End::ready);
  EXPECT_EQ(room->end, End::none);
  EXPECT_TRUE(waits_.in_use());
  EXPECT_FALSE(look());
  pair.drain();
  wait_for_delivery();
  EXPECT_EQ(room->end, End::ready);
  EXPECT_EQ(told_, 2);
  EXPECT_FALSE(waits_.in_use());
}

TEST_F(DescriptorWaitsTest, SeveralWaitsForOneEventEndTogether) {
  const test::Pipe pipe;
  add(pipe.reader(), EPOLLIN);
  add(pipe.reader(), EPOLLIN);
  pipe.write_one('a');
  wait_for_delivery();
  EXPECT_EQ(told_, 2);
}

TEST_F(DescriptorWaitsTest, AHangUpEndsEveryWait) {
  SocketPair pair;
  pair.fill();
  add(pair.end(), EPOLLOUT);
  add(pair.end(), EPOLLIN);
  pair.close_other();
  wait_for_delivery();
  EXPECT_EQ(told_, 2);
  EXPECT_FALSE(waits_.in_use());
}

TEST_F(DescriptorWaitsTest, OneThatIsEndedHearsNothingMore) {
  const test::Pipe pipe;
  const auto ended = add(pipe.reader(), EPOLLIN);
  const auto other = add(pipe.reader(), EPOLLIN);
  waits_.end(ended, End::timed_out);
  EXPECT_EQ(ended->end, End::timed_out);
  EXPECT_TRUE(waits_.in_use()) << "the other one goes on";
  waits_.end(ended, End::cancelled);
  EXPECT_EQ(ended->end, End::timed_out) << "it ends once";
  pipe.write_one('a');
  wait_for_delivery();
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(other->end, End::ready);
  const auto last = add(pipe.reader(), EPOLLIN);
  waits_.end(last, End::cancelled);
  EXPECT_FALSE(waits_.in_use());
  EXPECT_FALSE(look()) << "the kernel has been told";
}

TEST_F(DescriptorWaitsTest, WhatCannotBeWaitedForIsRefused) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(waits_.add(make(file, EPOLLIN)), EPERM);
  close(file);
  EXPECT_EQ(waits_.add(make(file, EPOLLIN)), EBADF);
  EXPECT_FALSE(waits_.in_use());
  EXPECT_EQ(waits_.waiting(), 0U);
}

TEST_F(DescriptorWaitsTest, ANumberThatAnotherFileHasNowIsWaitedForAnew) {
  SocketPair first;
  SocketPair second;
  add(first.end(), EPOLLIN);
  ASSERT_EQ(dup2(second.end(), first.end()), first.end());  // the kernel has forgotten the wait, and says nothing of it
  add(first.end(), EPOLLIN);
  second.send();
  wait_for_delivery();
  EXPECT_EQ(told_, 2);
}

TEST_F(DescriptorWaitsTest, ReportsNameTheTasksAndWhatTheyWaitFor) {
  SocketPair pair;
  pair.fill();
  int first = 0;
  int second = 0;
  const auto reader = make(pair.end(), EPOLLIN);
  const auto writer = make(pair.end(), EPOLLOUT);
  reader->task = reinterpret_cast<Task*>(&first);
  writer->task = reinterpret_cast<Task*>(&second);
  ASSERT_EQ(waits_.add(reader), 0);
  ASSERT_EQ(waits_.add(writer), 0);
  const auto nobody = add(pair.end(), EPOLLIN);
  EXPECT_EQ(waits_.waiting(), 2U) << "of tasks";
  std::vector<std::pair<const void*, std::string>> seen;
  waits_.for_each_wait([&](const Task* task, const WaitText& what) { seen.emplace_back(task, what()); });
  const std::string descriptor = "descriptor " + std::to_string(pair.end());
  const std::vector<std::pair<const void*, std::string>> expected{{&first, descriptor + " to be readable"},
                                                                  {&second, descriptor + " to be writable"}};
  EXPECT_EQ(seen, expected);
  waits_.end(reader, End::timed_out);
  waits_.end(nobody, End::timed_out);
  EXPECT_EQ(waits_.waiting(), 1U);
  waits_.end(writer, End::timed_out);
  EXPECT_EQ(waits_.waiting(), 0U);
}

TEST(DescriptorWaits, WhatTheProgramClosesEndsAllWaits) {
  const int own = next_descriptor();
  DescriptorWaits waits;
  ASSERT_EQ(waits.start(), 0);
  const test::Pipe pipe;
  std::vector<std::shared_ptr<DescriptorWait>> all;
  int told = 0;
  for (const int descriptor : {pipe.reader(), pipe.reader(), STDIN_FILENO + pipe.writer()}) {
    all.push_back(std::make_shared<DescriptorWait>());
    all.back()->descriptor = descriptor;
    all.back()->events = EPOLLIN;
    all.back()->ready = [&] { ++told; };
    ASSERT_EQ(waits.add(all.back()), 0);
  }
  close(own);
  close(own + 1);
  waits.wait(base::TimePoint::max());
  EXPECT_FALSE(waits.ready());
  EXPECT_FALSE(waits.in_use());
  EXPECT_EQ(told, 3) << "each learns of it from its next call";
  for (const auto& wait : all) {
    EXPECT_EQ(wait->end, End::ready);
    waits.end(wait, End::timed_out);
    EXPECT_EQ(wait->end, End::ready) << "it has ended";
  }
}

TEST(DescriptorWaits, NoDescriptorIsLeftOpen) {
  const int next = next_descriptor();
  {
    DescriptorWaits waits;
    ASSERT_EQ(waits.start(), 0);
    EXPECT_EQ(next_descriptor(), next + 2);
  }
  EXPECT_EQ(next_descriptor(), next);
}

TEST(DescriptorWaits, WithoutDescriptorsItSaysSoAndKeepsNone) {
  const int next = next_descriptor();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int left : {0, 1}) {
    DescriptorWaits waits;
    const rlimit few{static_cast<rlim_t>(next + left), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_EQ(waits.start(), EMFILE);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(waits.ready());
    EXPECT_FALSE(waits.in_use());
    EXPECT_EQ(next_descriptor(), next);
  }
}

}  // namespace
}  // namespace dovetail::tasking
