// Which calls of the C library a task makes on its own core, and which an executor makes while the task is paused. This program stands for the
// library that is interposed.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <latch>
#include <thread>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "storage/interposition.hpp"
#include "storage/operation.hpp"
#include "storage/uninterposed.hpp"
#include "support.hpp"
#include "tasking/gate.hpp"
#include "tasking/pause.hpp"
#include "trace/trace.hpp"

namespace {
const dovetail::storage::Interposition* attached = nullptr;
}

extern "C" [[gnu::visibility("default")]] void dovetail_posix_attach(
    const dovetail::storage::Interposition* interposition) noexcept {
  attached = interposition;
}

namespace dovetail::test {
namespace {

using storage::Call;
using storage::CallKind;

constexpr std::size_t page = 4096;

// A call as the interposed library makes it, and what became of it.
struct Made : Call {
  std::function<void()> before = [] {};  ///< On the thread that makes the call.
  unsigned times = 0;
  std::thread::id thread;
};

std::int64_t make(const Call& call) noexcept {
  Made& made = const_cast<Made&>(static_cast<const Made&>(call));
  ++made.times;
  made.thread = std::this_thread::get_id();
  made.before();
  const auto* const vectors = static_cast<const iovec*>(call.address);
  const int count = static_cast<int>(call.count);
  ssize_t result = 0;
  switch (call.kind) {
    case CallKind::read:
      result =
          call.vectors ? ::readv(call.descriptor, vectors, count) : ::read(call.descriptor, call.address, call.count);
      break;
    case CallKind::write:
      result =
          call.vectors ? ::writev(call.descriptor, vectors, count) : ::write(call.descriptor, call.address, call.count);
      break;
    case CallKind::pread:
      result = call.vectors ? ::preadv2(call.descriptor, vectors, count, call.offset, call.flags)
                            : ::pread(call.descriptor, call.address, call.count, call.offset);
      break;
    case CallKind::pwrite:
      result = call.vectors ? ::pwritev2(call.descriptor, vectors, count, call.offset, call.flags)
                            : ::pwrite(call.descriptor, call.address, call.count, call.offset);
      break;
    case CallKind::sync:
      result = call.data_only ? ::fdatasync(call.descriptor) : ::fsync(call.descriptor);
      break;
  }
  return result < 0 ? -errno : result;
}

Made made_of(CallKind kind, int descriptor, void* address = nullptr, std::size_t count = 0, off_t offset = 0) {
  Made made;
  static_cast<Call&>(made) = {make, kind, false, false, descriptor, 0, address, count, offset};
  return made;
}

enum class How : std::uint8_t { without_a_call, at_once, paused };

std::ostream& operator<<(std::ostream& out, How how) {
  return out << (how == How::without_a_call ? "without a call" : how == How::at_once ? "at once" : "paused");
}

struct Outcome {
  How how;
  std::int64_t result;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << outcome.how << " with result " << outcome.result;
}

// In a task of a runtime with one worker.
Outcome perform(Made& made) {
  const std::thread::id worker = std::this_thread::get_id();
  errno = 4711;
  const std::int64_t result = attached->perform(made);
  EXPECT_EQ(errno, 4711) << "what the C library leaves in errno is the business of the one that calls";
  EXPECT_LE(made.times, 1U);
  return {made.times == 0 ? How::without_a_call : made.thread == worker ? How::at_once : How::paused, result};
}

Outcome perform(Made&& made) { return perform(made); }

// Blocks a call until `open` is counted down. It does not block the only worker: the task that counts down needs that.
std::function<void()> hold(std::latch& entered, std::latch& open) {
  return [&, worker = std::this_thread::get_id()] {
    entered.count_down();
    if (std::this_thread::get_id() != worker) {
      open.wait();
    }
  };
}

class InterposedCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    struct stat status{};
    const int file = make_file("probe", "x");
    ASSERT_EQ(fstat(file, &status), 0);
    device::Device& device = device::device_of(status.st_dev, file);
    writes_ = &device.in_place_writes;
    if (device.in_memory || !device.caches_writes) {
      GTEST_SKIP() << "the file system of the build tree has no page cache in front of a disk";
    }
  }
  int keep(int descriptor) {
    EXPECT_GE(descriptor, 0) << std::strerror(errno);
    descriptors_.emplace_back(descriptor);
    return descriptor;
  }
  int make_file(const std::string& name, const std::string& content, int flags = 0) {
    const int file = keep(::open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600));
    EXPECT_EQ(::pwrite(file, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    return file;
  }
  // Of which only so many bytes are in the page cache.
  int make_cold_file(const std::string& name, const std::string& content, std::size_t cached = 0) {
    const int file = make_file(name, content);
    EXPECT_EQ(::fsync(file), 0);
    EXPECT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM), 0);  // nothing is read ahead
    cool(file, cached);
    return file;
  }
  void cool(int file, std::size_t cached) {
    EXPECT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    EXPECT_EQ(::pread(file, buffer_.data(), cached, 0), static_cast<ssize_t>(cached));
  }
  // The look itself begins to read, so a fast disk may have answered before the call, and nearly always has under a sanitizer.
  Outcome perform_cold(int file, std::size_t cached, const std::function<Made()>& next) {
    Outcome outcome = perform(next());
    for (int again = 0; again < 5000 && outcome.how != How::paused; ++again) {
      cool(file, cached);
      outcome = perform(next());
    }
    return outcome;
  }
  static std::string text(std::size_t count) {
    std::string made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(static_cast<char>('a' + i * 7 % 26));
    }
    return made;
  }
  template <class Body>
  void in_task(Body&& body) {
    Runtime(options_).spawn(body).get();
  }
  Made read_of(int file, std::size_t count) { return made_of(CallKind::read, file, buffer_.data(), count, -1); }
  Made pread_of(int file, std::size_t count, off_t offset) {
    return made_of(CallKind::pread, file, buffer_.data(), count, offset);
  }
  Made write_of(int file, std::size_t count) { return made_of(CallKind::write, file, buffer_.data(), count, -1); }
  Made pwrite_of(int file, std::size_t count, off_t offset) {
    return made_of(CallKind::pwrite, file, buffer_.data(), count, offset);
  }
  // A busy disk may make any write wait, and then the next ones are not tried in place: for minutes, if it waited for seconds.
  void expect_in_place(std::int64_t bytes, const std::function<Made()>& next) {
    for (;;) {
      const Outcome outcome = perform(next());
      ASSERT_EQ(outcome.result, bytes);
      if (outcome.how == How::at_once) {
        return;
      }
      writes_->begin(base::ticks() + (std::uint64_t{1} << 60));  // when the refusal is over
      writes_->begin(base::ticks() + (std::uint64_t{2} << 60));  // and the doubt after it
    }
  }

  Folder folder_;
  Options options_{.workers = 1};
  std::string buffer_ = std::string(2 * storage::most_inline, '.');
  std::vector<base::Descriptor> descriptors_;
  device::InPlaceWrites* writes_ = nullptr;
};

TEST_F(InterposedCallsTest, OnlyTasksOnComputeWorkersAreAsked) {
  ASSERT_NE(attached, nullptr);
  EXPECT_EQ(attached->version, storage::interposition_version);
  EXPECT_FALSE(attached->in_task());
  in_task([] {
    EXPECT_TRUE(attached->in_task());
    {
      const storage::Uninterposed outer;
      EXPECT_FALSE(attached->in_task());
      {
        const storage::Uninterposed inner;
        EXPECT_FALSE(attached->in_task());
      }
      EXPECT_FALSE(attached->in_task());
    }
    EXPECT_TRUE(attached->in_task());
    spawn({.io = true}, [] { EXPECT_FALSE(attached->in_task()) << "an executor may wait"; }).get();
  });
}

TEST_F(InterposedCallsTest, AReadAtAPlaceTakesWhatIsInThePageCache) {
  const std::string content = text(storage::most_inline + 100);
  const int whole = make_file("whole", content);
  const int part = make_cold_file("part", content, page);
  const int none = make_cold_file("none", content);
  in_task([&] {
    EXPECT_EQ(perform(pread_of(whole, 5000, 100)), (Outcome{How::without_a_call, 5000}));
    EXPECT_EQ(buffer_.substr(0, 5000), content.substr(100, 5000));
    EXPECT_EQ(perform(pread_of(whole, 1000, static_cast<off_t>(content.size()) - 10)),
              (Outcome{How::without_a_call, 10}))
        << "up to the end of the file";
    EXPECT_EQ(perform(pread_of(whole, 1000, static_cast<off_t>(content.size()))), (Outcome{How::without_a_call, 0}));
    EXPECT_EQ(perform(pread_of(whole, storage::most_inline, 0)),
              (Outcome{How::without_a_call, static_cast<std::int64_t>(storage::most_inline)}));
    EXPECT_EQ(perform(pread_of(whole, storage::most_inline + 1, 0)),
              (Outcome{How::paused, static_cast<std::int64_t>(storage::most_inline) + 1}))
        << "too much for the calling core";
    EXPECT_EQ(perform_cold(part, page, [&] { return pread_of(part, 2 * page, 0); }), (Outcome{How::paused, 2 * page}))
        << "half of it must be waited for";
    EXPECT_EQ(buffer_.substr(0, 2 * page), content.substr(0, 2 * page));
    EXPECT_EQ(perform_cold(none, 0, [&] { return pread_of(none, 100, 0); }), (Outcome{How::paused, 100}));
  });
}

TEST_F(InterposedCallsTest, VectorsAndFlagsAreLeftToThePausedCall) {
  const int file = make_file("file", text(3 * page));
  in_task([&] {
    iovec one{buffer_.data(), 100};
    Made vectors = made_of(CallKind::pread, file, &one, 1, 0);
    vectors.vectors = true;
    EXPECT_EQ(perform(vectors), (Outcome{How::paused, 100}));
    Made flagged = vectors;
    flagged.times = 0;
    flagged.flags = RWF_HIPRI;
    EXPECT_EQ(perform(flagged), (Outcome{How::paused, 100}));
    Made impatient = vectors;
    impatient.times = 0;
    impatient.flags = RWF_NOWAIT;
    EXPECT_EQ(perform(impatient), (Outcome{How::at_once, 100})) << "it says itself that it does not wait";
    Made position = made_of(CallKind::read, file, &one, 1, -1);
    position.vectors = true;
    EXPECT_EQ(perform(position), (Outcome{How::paused, 100}));
    Made written = made_of(CallKind::pwrite, file, &one, 1, 0);
    written.vectors = true;
    EXPECT_EQ(perform(written), (Outcome{How::paused, 100}));
  });
}

TEST_F(InterposedCallsTest, WhatCannotWaitIsMadeAtOnce) {
  const int file = make_cold_file("file", text(2 * page));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  keep(ends[0]);
  keep(ends[1]);
  const int nothing = keep(::open("/dev/null", O_RDWR | O_CLOEXEC));
  in_task([&] {
    EXPECT_EQ(perform(pread_of(file, 0, 0)), (Outcome{How::at_once, 0}));
    EXPECT_EQ(perform(read_of(file, 0)), (Outcome{How::at_once, 0}));
    EXPECT_EQ(perform(pread_of(file, 100, -1)), (Outcome{How::at_once, -EINVAL}));
    EXPECT_EQ(perform(pwrite_of(file, 100, -1)), (Outcome{How::at_once, -EINVAL}));
    EXPECT_EQ(perform(pread_of(-1, 100, 0)), (Outcome{How::at_once, -EBADF}));
    EXPECT_EQ(perform(write_of(ends[1], 100)), (Outcome{How::at_once, 100})) << "a pipe is no file";
    EXPECT_EQ(perform(read_of(ends[0], 100)), (Outcome{How::at_once, 100}));
    EXPECT_EQ(perform(read_of(nothing, 100)), (Outcome{How::at_once, 0}));
    const int folder = keep(::open((folder_ / ".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(perform(read_of(folder, 100)), (Outcome{How::at_once, -EISDIR}));
    EXPECT_EQ(perform(made_of(CallKind::sync, folder)), (Outcome{How::paused, 0})) << "a folder is synchronized";
  });
}

TEST_F(InterposedCallsTest, FilesThatLieInMemoryNeverWait) {
  const int memory = keep(memfd_create("file", MFD_CLOEXEC));
  const int status = keep(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  in_task([&] {
    const auto large = static_cast<std::int64_t>(storage::most_inline) + 1;
    EXPECT_EQ(perform(pwrite_of(memory, storage::most_inline + 1, 0)), (Outcome{How::at_once, large}));
    EXPECT_EQ(perform(pread_of(memory, storage::most_inline + 1, 0)), (Outcome{How::at_once, large}));
    EXPECT_EQ(perform(made_of(CallKind::sync, memory)), (Outcome{How::at_once, 0}));
    EXPECT_EQ(perform(pread_of(status, 10, 0)), (Outcome{How::at_once, 10})) << "what the kernel makes up";
    EXPECT_EQ(perform(read_of(status, 10)), (Outcome{How::at_once, 10}));
  });
}

TEST_F(InterposedCallsTest, AReadAtThePositionIsOneCallAndPausesOnlyIfItWillWait) {
  const std::string content = text(4 * page);
  const int file = make_cold_file("file", content, 2 * page);
  const auto seek = [&](std::size_t to) {
    ASSERT_EQ(lseek(file, static_cast<off_t>(to), SEEK_SET), static_cast<off_t>(to));
  };
  const int apart = make_cold_file("apart", content, 2 * page);
  const int cold = make_cold_file("cold", content);
  in_task([&] {
    EXPECT_EQ(perform(read_of(file, page)), (Outcome{How::at_once, page}));
    EXPECT_EQ(lseek(file, 0, SEEK_CUR), static_cast<off_t>(page)) << "to look is not to move";
    EXPECT_EQ(buffer_.substr(0, page), content.substr(0, page));
    EXPECT_EQ(perform(read_of(file, page)), (Outcome{How::at_once, page}))
        << "its last byte is the last that is cached";
    EXPECT_EQ(buffer_.substr(0, page), content.substr(page, page));
    seek(2 * page - 1);
    EXPECT_EQ(perform(read_of(file, 1)), (Outcome{How::at_once, 1}));
    const auto one_more = [&] {
      seek(page);
      return read_of(file, page + 1);
    };
    EXPECT_EQ(perform_cold(file, 2 * page, one_more), (Outcome{How::paused, page + 1}))
        << "one byte must be waited for";
    EXPECT_EQ(lseek(file, 0, SEEK_CUR), static_cast<off_t>(2 * page + 1));
    const auto across = [&] {
      EXPECT_EQ(lseek(apart, 2 * page - 1, SEEK_SET), static_cast<off_t>(2 * page - 1));
      return read_of(apart, 2);
    };
    EXPECT_EQ(perform_cold(apart, 2 * page, across), (Outcome{How::paused, 2})) << "few bytes, of two pages";
    seek(4 * page);
    EXPECT_EQ(perform(read_of(file, 10)), (Outcome{How::at_once, 0})) << "the end of the file";
    const auto at_zero = [&] {
      EXPECT_EQ(lseek(cold, 0, SEEK_SET), 0);
      return read_of(cold, 10);
    };
    EXPECT_EQ(perform_cold(cold, 0, at_zero), (Outcome{How::paused, 10}));
  });
}

TEST_F(InterposedCallsTest, DirectDescriptorsDoNotAskThePageCache) {
  make_file("file", text(page));
  const int direct = ::open((folder_ / "file").c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (direct < 0) {
    GTEST_SKIP() << "no direct I/O here";
  }
  keep(direct);
  void* const aligned = std::aligned_alloc(page, page);
  in_task([&] {
    EXPECT_EQ(perform(made_of(CallKind::pread, direct, aligned, page, 0)), (Outcome{How::paused, page}));
    EXPECT_EQ(perform(made_of(CallKind::read, direct, aligned, page, -1)), (Outcome{How::paused, page}));
    EXPECT_EQ(perform(made_of(CallKind::pwrite, direct, aligned, page, 0)), (Outcome{How::paused, page}));
  });
  std::free(aligned);
}

TEST_F(InterposedCallsTest, SmallWritesAreMadeInPlaceAndOthersAreNot) {
  const int file = make_file("file", "");
  const int durable = make_file("durable", "", O_DSYNC);
  in_task([&] {
    off_t end = 0;
    expect_in_place(100, [&] {
      end += 100;
      return write_of(file, 100);
    });
    EXPECT_EQ(lseek(file, 0, SEEK_CUR), end);
    expect_in_place(100, [&] { return pwrite_of(file, 100, 0); });
    const auto most = static_cast<std::int64_t>(storage::most_inline);
    expect_in_place(most, [&] { return pwrite_of(file, storage::most_inline, 0); });
    EXPECT_EQ(perform(pwrite_of(file, storage::most_inline + 1, 0)), (Outcome{How::paused, most + 1}));
    EXPECT_EQ(perform(write_of(durable, 100)), (Outcome{How::paused, 100}));
    EXPECT_EQ(perform(made_of(CallKind::sync, file)), (Outcome{How::paused, 0}));
  });
  options_.engine = "threads";
  in_task(
      [&] { EXPECT_EQ(perform(pwrite_of(file, 100, 0)), (Outcome{How::paused, 100})) << "the engine was asked for"; });
}

TEST_F(InterposedCallsTest, WhileThePositionIsTakenNobodyElseAsksForIt) {
  const int file = make_file("file", text(4 * page));
  for (const CallKind kind : {CallKind::write, CallKind::read}) {
    options_.io_executors = 2;
    in_task([&] {
      std::latch entered(1);
      std::latch open(1);
      iovec one{buffer_.data(), 10};
      auto holder = spawn([&] {
        Made call = made_of(kind, file, &one, 1, -1);
        call.vectors = true;
        call.before = hold(entered, open);
        EXPECT_EQ(perform(call), (Outcome{How::paused, 10}));
      });
      while (!entered.try_wait()) {
        this_task::yield();
      }
      EXPECT_EQ(perform(read_of(file, 10)), (Outcome{How::paused, 10}));
      EXPECT_EQ(perform(write_of(file, 10)), (Outcome{How::paused, 10}));
      EXPECT_EQ(perform(pread_of(file, 10, 0)), (Outcome{How::without_a_call, 10})) << "it does not need the position";
      expect_in_place(10, [&] { return pwrite_of(file, 10, 0); });
      open.count_down();
      holder.get();
      EXPECT_EQ(perform(read_of(file, 10)), (Outcome{How::at_once, 10})) << "the position is free again";
    });
  }
}

TEST_F(InterposedCallsTest, ACallWhoseDescriptorLeadsElsewhereMeanwhileIsNotMade) {
  const int blocker = make_file("blocker", text(page));
  const int file = make_file("file", text(page));
  const int other = make_file("other", text(page));
  options_.io_executors = 1;
  in_task([&] {
    std::latch entered(1);
    std::latch open(1);
    auto holder = spawn([&] {
      Made call = made_of(CallKind::sync, blocker);
      call.before = hold(entered, open);
      EXPECT_EQ(perform(call), (Outcome{How::paused, 0}));
    });
    while (!entered.try_wait()) {
      this_task::yield();
    }
    bool begun = false;
    auto second = spawn([&] {
      begun = true;
      EXPECT_EQ(perform(made_of(CallKind::sync, file)), (Outcome{How::without_a_call, -EBADF}));
    });
    while (!begun) {
      this_task::yield();  // to the only worker, which comes back when the second one has paused
    }
    EXPECT_EQ(dup2(other, file), file);
    open.count_down();
    holder.get();
    second.get();
  });
}

TEST_F(InterposedCallsTest, WhereSignalsAreBlockedNothingPauses) {
  const int file = make_file("file", text(page));
  in_task([&] {
    sigset_t more;
    sigset_t before;
    sigemptyset(&more);
    sigaddset(&more, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &more, &before), 0);
    EXPECT_EQ(perform(made_of(CallKind::sync, file)), (Outcome{How::at_once, 0}));
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  });
}

// Of a task that shares out a device: what it moves is counted.
class CountingTicket final : public tasking::Ticket {
 public:
  bool enter() noexcept override { return true; }
  void started() noexcept override {}
  void leave(bool /*failed*/) noexcept override {}
  bool is_limited() const noexcept override { return false; }
  std::string waits_for() const override { return {}; }
};

TEST_F(InterposedCallsTest, BytesAreCountedForTheTaskThatMovesThem) {
  const int file = make_file("file", text(page));
  in_task([&] {
    auto made = std::make_unique<CountingTicket>();
    const CountingTicket& ticket = *made;
    tasking::extra_of(tasking::current_task()).ticket = std::move(made);
    perform(pread_of(file, 100, 0));
    EXPECT_EQ(ticket.moved(), 100U);
    perform(pwrite_of(file, storage::most_inline + 1, 0));
    EXPECT_EQ(ticket.moved(), 100U + storage::most_inline + 1);
    perform(pread_of(file, 100, -1));
    EXPECT_EQ(ticket.moved(), 100U + storage::most_inline + 1) << "a failure moves nothing";
  });
}

TEST_F(InterposedCallsTest, TheTraceTellsOfCallsThatPause) {
  const int file = make_file("file", text(storage::most_inline + 1));
  Runtime runtime(options_);
  trace::start();
  runtime
      .spawn([&] {
        EXPECT_EQ(perform(pread_of(file, storage::most_inline + 1, 0)).how, How::paused);
        EXPECT_EQ(perform(pwrite_of(file, storage::most_inline + 1, 0)).how, How::paused);
        EXPECT_EQ(perform(made_of(CallKind::sync, file)).how, How::paused);
      })
      .get();
  trace::stop();
  const trace::Summary summary = trace::summarize();
  EXPECT_EQ(summary.bytes_written, static_cast<double>(storage::most_inline + 1));
  EXPECT_EQ(summary.bytes_read, static_cast<double>(storage::most_inline + 1));
}

}  // namespace
}  // namespace dovetail::test
