// Closing while operations are in flight.
#include <fcntl.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using CloseTest = EngineTest;

TEST_P(CloseTest, LaterOperationsFailForAllCopies) {
  Runtime runtime(options());
  runtime
      .spawn([&] {
        File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
        const File copy = file;
        EXPECT_TRUE(copy.is_open());
        file.close();
        EXPECT_FALSE(copy.is_open());
        EXPECT_EQ(copy.descriptor(), -1);
        std::string text(10, ' ');
        try {
          copy.pread(text, 3);
          FAIL() << "read a closed file";
        } catch (const IoError& error) {
          EXPECT_EQ(error.code().value(), EBADF);
          EXPECT_EQ(error.offset(), 3U);
        }
        EXPECT_THROW(file.close(), IoError);
        EXPECT_THROW(copy.fsync(), IoError);
        EXPECT_THROW((void)copy.size(), IoError);
        auto bound = dovetail::spawn({.label = "late"}, [&] { copy.ipwrite(std::string_view("x"), 0); });
        EXPECT_THROW(bound.get(), TaskFailed);
      })
      .get();
}

// Everything that was started before the close must be in the file. Nothing may be written to a descriptor number that
// another file got meanwhile.
TEST_P(CloseTest, WaitsForWhatIsInFlight) {
  Runtime runtime(options());
  const auto data = random_bytes(64 * 1024, seed());
  for (std::size_t round = 0; round < scaled(100, 20); ++round) {
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC);
    std::atomic<unsigned> wrote{0};
    std::vector<char> done(16, 0);
    for (std::size_t i = 0; i < done.size(); ++i) {
      runtime.spawn({.on_failure = ignore_failure}, [&, i] {
        try {
          file.pwrite(data, i * data.size());
          done[i] = 1;
        } catch (const IoError& error) {
          EXPECT_EQ(error.code().value(), EBADF);
        }
        wrote.fetch_add(1);
      });
    }
    if (round % 2 == 0) {
      runtime.spawn([&] { file.close(); });
    } else {
      file.close();
    }
    runtime.wait();
    EXPECT_EQ(wrote.load(), done.size());
    const File check = File::open(folder_ / "a", O_RDONLY);
    std::vector<std::byte> back(data.size());
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i] != 0) {
        ASSERT_EQ(check.pread(back, i * data.size()), data.size());
        ASSERT_EQ(back, data);
      }
    }
  }
}

TEST_P(CloseTest, OfManyClosersOneSucceeds) {
  Runtime runtime(options());
  for (int round = 0; round < 100; ++round) {
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
    std::atomic<int> closed{0};
    std::atomic<int> refused{0};
    for (int i = 0; i < 8; ++i) {
      runtime.spawn([&, copy = file]() mutable {
        try {
          copy.close();
          closed.fetch_add(1);
        } catch (const IoError&) {
          refused.fetch_add(1);
        }
      });
    }
    runtime.wait();
    EXPECT_EQ(closed.load(), 1);
    EXPECT_EQ(refused.load(), 7);
  }
}

TEST_P(CloseTest, WaitsForBoundWritesAndSucceedsOnce) {
  Runtime runtime(options());
  const auto data = random_bytes(256 * 1024, seed());
  for (std::size_t round = 0; round < scaled(50, 10); ++round) {
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC);
    std::vector<Future<void>> closers;
    for (std::size_t i = 0; i < 8; ++i) {
      runtime.spawn({.on_failure = ignore_failure}, [&, i] { file.ipwrite(data, i * data.size()); });
    }
    for (std::size_t i = 0; i < 3; ++i) {
      closers.push_back(runtime.spawn([copy = file]() mutable { copy.close(); }));
    }
    std::size_t closed = 0;
    for (const auto& closer : closers) {
      try {
        closer.get();
        ++closed;
      } catch (const TaskFailed& failure) {
        EXPECT_EQ(io_error_of(failure).code().value(), EBADF);
      }
    }
    EXPECT_EQ(closed, 1U);
    runtime.wait();
  }
}

DOVETAIL_FOR_EACH_ENGINE(CloseTest);

}  // namespace
}  // namespace dovetail::test
