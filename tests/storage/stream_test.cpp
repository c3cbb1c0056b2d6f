// Pipes, FIFOs, sockets and terminals as files: no offsets, and waits that are as long as the other side likes.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>

#include "support.hpp"

namespace dovetail::test {
namespace {

class StreamTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    std::signal(SIGPIPE, SIG_IGN);
  }
  // Two ends of each kind of stream: what is written to the second is read from the first.
  void for_each_kind(const std::function<void(int, int)>& body, bool packets = false) {
    for (const int flags : {0, O_NONBLOCK}) {
      for (const char* kind : {"pipe", "socket", "fifo", "packets"}) {
        if (kind == std::string("packets") && !packets) {
          continue;  // a read takes one, and what does not fit is lost
        }
        SCOPED_TRACE(std::string(kind) + (flags != 0 ? ", non-blocking" : ""));
        int ends[2] = {-1, -1};
        if (kind == std::string("socket")) {
          ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
          fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | flags);
          fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | flags);
        } else if (kind == std::string("fifo")) {
          const std::string path = folder_ / "fifo";
          unlink(path.c_str());
          ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
          ends[0] = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
          ends[1] = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
          ASSERT_TRUE(ends[0] >= 0 && ends[1] >= 0);
          fcntl(ends[0], F_SETFL, flags);
          fcntl(ends[1], F_SETFL, O_WRONLY | flags);
        } else {
          ASSERT_EQ(pipe2(ends, O_CLOEXEC | flags | (kind == std::string("packets") ? O_DIRECT : 0)), 0);
        }
        body(ends[0], ends[1]);
        ::close(ends[0]);
        ::close(ends[1]);
      }
    }
  }
};

// Far more than a pipe holds, in pieces of any size, at offsets that mean nothing, by every form of the operations.
TEST_P(StreamTest, CarriesEverythingInOrder) {
  Runtime runtime(options());
  std::mt19937_64 random(seed());
  for_each_kind([&](int in, int out) {
    const auto data = random_bytes(scaled(2'000'000, 400'000), random());
    std::vector<std::byte> back(data.size());
    const File source = File::from_descriptor(in);
    const File sink = File::from_descriptor(out);
    EXPECT_FALSE(source.direct());
    std::vector<std::size_t> read(1000, 0);
    const std::uint64_t start = random();
    auto writer = runtime.spawn([&] {
      std::mt19937_64 own(start);
      for (std::size_t begin = 0; begin < data.size();) {
        const std::size_t length = std::min<std::size_t>(1 + own() % 300'000, data.size() - begin);
        const auto part = std::span(data).subspan(begin, length);
        auto* const memory = const_cast<std::byte*>(part.data());
        const std::vector<iovec> list = {{memory, length / 2}, {memory + length / 2, length - length / 2}};
        const std::uint64_t offset = own() % 100'000;
        if (own() % 2 == 0) {
          EXPECT_EQ(sink.pwrite(part, offset), length);
        } else {
          EXPECT_EQ(sink.pwritev(list, offset), length);
        }
        begin += length;
      }
    });
    auto reader = runtime.spawn([&] {
      std::mt19937_64 own(start + 1);
      for (std::size_t begin = 0; begin < back.size();) {
        const std::size_t length = std::min<std::size_t>(1 + own() % 200'000, back.size() - begin);
        std::byte* const memory = back.data() + begin;
        const std::vector<iovec> list = {{memory, length / 3}, {memory + length / 3, length - length / 3}};
        const std::uint64_t offset = own() % 100'000;
        switch (own() % 3) {
          case 0:
            EXPECT_EQ(source.pread(std::span(memory, length), offset), length);
            break;
          case 1:
            EXPECT_EQ(source.preadv(list, offset), length);
            break;
          default: {
            std::size_t moved = 0;
            spawn([&] { source.ipread(std::span(memory, length), offset, &moved); }).get();
            EXPECT_EQ(moved, length);
          }
        }
        begin += length;
      }
    });
    writer.get();
    reader.get();
    EXPECT_TRUE(back == data);
  });
}

TEST_P(StreamTest, EndsWhereTheOtherSideCloses) {
  Runtime runtime(options());
  for_each_kind(
      [&](int in, int out) {
        const int own = dup(out);
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), out);
        std::string text(100, '.');
        std::size_t moved = 0;
        auto reader = runtime.spawn([&] { moved = dovetail::pread(in, text, 7); });
        runtime.spawn([&] { dovetail::pwrite(own, std::string("abc"), 9); }).get();
        ::close(own);
        reader.get();
        EXPECT_EQ(moved, 3U);
        EXPECT_EQ(text.substr(0, 4), "abc.");
        runtime.spawn([&] { moved = dovetail::pread(in, text, 0); }).get();
        EXPECT_EQ(moved, 0U);
      },
      true);
}

TEST_P(StreamTest, WithoutAReaderAWriteFails) {
  Runtime runtime(options());
  for_each_kind(
      [&](int in, int out) {
        ASSERT_GE(dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), in), 0);
        try {
          runtime.spawn([&] { dovetail::pwrite(out, std::string("abc"), 0); }).get();
          FAIL();
        } catch (const TaskFailed& failure) {
          EXPECT_EQ(io_error_of(failure).code().value(), EPIPE);
          EXPECT_NE(std::string(failure.what()).find("descriptor " + std::to_string(out)), std::string::npos);
        }
      },
      true);
}

TEST_P(StreamTest, OutsideOfTasksAndInIoTasks) {
  Runtime runtime(options());
  for_each_kind([&](int in, int out) {
    std::thread writer([&] {
      const std::string text(300'000, 'x');
      EXPECT_EQ(File::from_descriptor(out).pwrite(text, 5), text.size());
    });
    std::string back(150'000, '.');
    EXPECT_EQ(File::from_descriptor(in).pread(back, 5), back.size());
    runtime.spawn({.io = true}, [&] { EXPECT_EQ(File::from_descriptor(in).pread(back, 1), back.size()); }).get();
    EXPECT_EQ(back, std::string(150'000, 'x'));
    writer.join();
  });
}

// Waiting for the other end takes no turn away from others. With the queue of a device, the last reader would wait behind all
// others, and so would files.
TEST_P(StreamTest, ManyWaitAndTheLastIsServedFirst) {
  const bool ring = ring_available() && GetParam() != std::string("threads") && GetParam() != std::string("aio");
  const std::size_t count = ring ? scaled(400, 200) : 40;  // without a ring, as many as there are executors
  Runtime runtime(options());
  std::vector<std::array<int, 2>> pipes(count);
  std::vector<Future<void>> readers;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(pipe2(pipes[i].data(), O_CLOEXEC), 0);
    readers.push_back(runtime.spawn([&pipes, i] {
      std::array<std::size_t, 1> number{};
      EXPECT_EQ(dovetail::pread(pipes[i][0], number, 0), sizeof number);
      EXPECT_EQ(number[0], i);
    }));
  }
  const auto data = random_bytes(300'000, seed());
  for (std::size_t left = count; left > 0; --left) {
    const std::array<std::size_t, 1> number{left - 1};
    ASSERT_EQ(::write(pipes[left - 1][1], number.data(), sizeof number), static_cast<ssize_t>(sizeof number));
    readers[left - 1].get();
    if (left % 50 == 0) {
      const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
      runtime.spawn([&] { EXPECT_EQ(file.pwrite(data, 0), data.size()); }).get();
    }
  }
  for (const auto& ends : pipes) {
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

// Of one in non-blocking mode the system says "try again" at once. Nothing is busy meanwhile.
TEST_P(StreamTest, AWaitForANonBlockingOneUsesNoProcessor) {
  Runtime runtime(options());
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const int events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<int> ended{0};
  std::string text(3, '.');
  std::array<std::uint64_t, 1> value{};
  auto reader = runtime.spawn([&] {
    EXPECT_EQ(dovetail::pread(ends[0], text, 0), 3U);
    ended.fetch_add(1);
  });
  auto waiter = runtime.spawn([&] {
    EXPECT_EQ(dovetail::pread(events, value, 0), sizeof value);
    ended.fetch_add(1);
  });
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  // As long as it takes until the process has used next to nothing for 200 ms: a loop of attempts uses all of them.
  for (std::int64_t before = used(), spent = INT64_MAX; spent > 50'000'000; before = used()) {
    ASSERT_EQ(poll(nullptr, 0, 200), 0);
    spent = used() - before;
  }
  EXPECT_EQ(ended.load(), 0);
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(events, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  reader.get();
  waiter.get();
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(value[0], 1U);
  for (const int descriptor : {ends[0], ends[1], events}) {
    ::close(descriptor);
  }
}

TEST_P(StreamTest, AFifoIsOpenedOnceAndNeverPastThePageCache) {
  Runtime runtime(options());
  const std::string path = folder_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text(100, '.');
  std::size_t moved = 0;
  auto reader = runtime.spawn([&] {
    const File file = File::open(path, O_RDONLY, {.direct = Direct::automatic});
    EXPECT_FALSE(file.direct());
    moved = file.pread(text, 0);
  });
  runtime
      .spawn([&] {
        File file = File::open(path, O_WRONLY, {.direct = Direct::adaptive});
        file.pwrite(std::string("abc"), 0);
        file.close();
      })
      .get();
  reader.get();
  EXPECT_EQ(moved, 3U);
  EXPECT_THROW(File::open(path, O_RDWR, {.direct = Direct::always}), IoError);
}

// Whichever opens a FIFO first waits for the other.
TEST_P(StreamTest, AFifoWaitsForItsOtherEnd) {
  for (const bool writer_first : {true, false}) {
    const std::string path = folder_ / (writer_first ? "writer_first" : "reader_first");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    ASSERT_EQ(access(path.c_str(), F_OK), 0);  // its name is in the kernel's cache
    std::string text(3, '.');
    std::size_t moved = 0;
    const std::function<void()> read = [&] { moved = File::open(path, O_RDONLY, {}).pread(text, 0); };
    const std::function<void()> write = [&] { File::open(path, O_WRONLY, {}).pwrite(std::string("abc"), 0); };
    Options one_worker = options();
    one_worker.workers = 1;
    Runtime runtime(one_worker);
    runtime
        .spawn([&] {
          spawn(writer_first ? write : read);
          this_task::yield();  // it has begun, and waits
          spawn(writer_first ? read : write);
          wait();
        })
        .get();
    EXPECT_EQ(moved, 3U) << path;
    EXPECT_EQ(text, "abc");
  }
}

DOVETAIL_FOR_EACH_ENGINE(StreamTest);

}  // namespace
}  // namespace dovetail::test
