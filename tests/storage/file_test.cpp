// Every operation of a file, in both forms, on every engine.
#include <fcntl.h>

#include <algorithm>
#include <climits>
#include <thread>

#include "storage/perform.hpp"
#include "storage/storage_service.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

class FileTest : public EngineTest {
 protected:
  // Runs `body` as a task and gives back what it throws.
  void in_task(const std::function<void()>& body) {
    Runtime runtime(options());
    runtime.spawn([&] { body(); }).get();
  }
};

TEST_P(FileTest, WritesAndReadsBack) {
  in_task([&] {
    const auto data = random_bytes(300000, seed());
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_EXCL);
    EXPECT_EQ(file.pwrite(data, 1000), data.size());
    EXPECT_EQ(file.size(), 301000U);
    std::vector<std::byte> back(data.size());
    EXPECT_EQ(file.pread(back, 1000), data.size());
    EXPECT_TRUE(back == data);
    std::vector<std::byte> hole(1000, std::byte{1});
    EXPECT_EQ(file.pread(hole, 0), 1000U);
    EXPECT_EQ(hole, std::vector<std::byte>(1000));
    file.close();
  });
}

TEST_P(FileTest, ReadsEndAtTheEndOfTheFile) {
  in_task([&] {
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
    file.pwrite(std::string("0123456789"), 0);
    std::string text(100, '.');
    EXPECT_EQ(file.pread(text, 4), 6U);
    EXPECT_EQ(text.substr(0, 7), "456789.");
    EXPECT_EQ(file.pread(text, 10), 0U);
    EXPECT_EQ(file.pread(text, 1000000), 0U);
    std::vector<std::byte> large(1 << 20);
    EXPECT_EQ(file.pread(large, 3), 7U);
    EXPECT_EQ(file.pread(std::span<std::byte>(), 0), 0U);
    EXPECT_EQ(file.pwrite(std::span<const std::byte>(), 0), 0U);
  });
}

// Else workers would look for the ends of requests for ever.
TEST_P(FileTest, NothingIsUnderWayWhenAllHasEnded) {
  Runtime runtime(options());
  File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(8192, seed());
  for (int i = 0; i < 50; ++i) {
    runtime.spawn([&] { file.pwrite(data, 0); });
    runtime.spawn([&] { file.ipwrite(data, 8192); });
  }
  runtime.wait();
  while (storage::StorageService::of(runtime.core())->in_flight() >
         0) {  // each is counted after its task has been told
    std::this_thread::yield();
  }
}

TEST_P(FileTest, BoundOperationsEndBeforeTheTaskCompletes) {
  Runtime runtime(options());
  const auto data = random_bytes(100000, seed());
  std::vector<std::byte> back(data.size());
  std::size_t read = 0;
  std::size_t written = 0;
  File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  runtime.spawn({.label = "write", .access = {out(file, 0, data.size())}}, [&] {
    file.ipwrite(std::span(data).first(60000), 0, &written);
    file.ipwrite(std::span(data).subspan(60000), 60000);
  });
  runtime.spawn({.label = "sync", .access = {inout(file, 0, data.size())}}, [&] {
    EXPECT_EQ(written, 60000U);
    file.ifdatasync();
    file.ifsync();
  });
  runtime.spawn({.label = "read", .access = {in(file, 0, data.size()), out(back)}},
                [&] { file.ipread(back, 0, &read); });
  runtime.spawn({.label = "check", .access = {in(back)}}, [&] {
    EXPECT_EQ(read, data.size());
    EXPECT_TRUE(back == data);
  });
  runtime.wait();
}

TEST_P(FileTest, VectorsOfAnyNumber) {
  in_task([&] {
    const std::size_t count = 3 * IOV_MAX + 7;
    const auto data = random_bytes(count * 3, seed());
    std::vector<iovec> vectors;
    auto source = data;
    for (std::size_t i = 0; i < count; ++i) {
      vectors.push_back({source.data() + 3 * i, 3});
    }
    vectors.insert(vectors.begin() + 5, iovec{nullptr, 0});
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
    EXPECT_EQ(file.pwritev(vectors, 17), data.size());
    std::fill(source.begin(), source.end(), std::byte{0});
    EXPECT_EQ(file.preadv(vectors, 17), data.size());
    EXPECT_TRUE(source == data);
    std::fill(source.begin(), source.end(), std::byte{0});
    EXPECT_EQ(file.preadv(vectors, 20), data.size() - 3);
    EXPECT_TRUE(std::equal(data.begin() + 3, data.end(), source.begin()));
    EXPECT_EQ(file.preadv({}, 0), 0U);
  });
}

TEST_P(FileTest, BoundVectorsOutliveTheirList) {
  Runtime runtime(options());
  const auto data = random_bytes(50000, seed());
  std::vector<std::byte> back(data.size());
  std::size_t moved = 0;
  File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  auto source = data;
  runtime.spawn({.access = {out(file, 0, data.size())}}, [&] {
    std::vector<iovec> list = {{source.data(), 20000}, {source.data() + 20000, 30000}};
    file.ipwritev(list, 0, &moved);
    std::fill(list.begin(), list.end(), iovec{nullptr, 0});
  });
  runtime.spawn({.access = {in(file, 0, data.size())}}, [&] {
    EXPECT_EQ(moved, data.size());
    std::vector<iovec> list = {{back.data(), 1}, {back.data() + 1, data.size() - 1}};
    file.ipreadv(list, 0);
    std::fill(list.begin(), list.end(), iovec{nullptr, 0});
  });
  runtime.wait();
  EXPECT_TRUE(back == data);
}

TEST_P(FileTest, SyncAndReserve) {
  in_task([&] {
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
    file.fallocate(0, 1 << 20);
    EXPECT_EQ(file.size(), 1U << 20);
    file.fallocate(0, 4096, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
    file.fsync();
    file.fdatasync();
    file.truncate(10);
    EXPECT_GE(file.size(), 10U);
  });
}

TEST_P(FileTest, OutsideOfTasksAndInIoTasksOperationsBlock) {
  const auto data = random_bytes(10000, seed());
  const auto use = [&](const std::string& path) {
    File file = File::open(path, O_RDWR | O_CREAT);
    EXPECT_EQ(file.pwrite(data, 5), data.size());
    std::vector<std::byte> back(data.size());
    std::size_t moved = 0;
    file.ipread(back, 5, &moved);  // here this has ended when it returns
    EXPECT_EQ(moved, data.size());
    EXPECT_TRUE(back == data);
    file.close();
  };
  use(folder_ / "a");
  Runtime runtime(options());
  runtime.spawn({.io = true}, [&] { use(folder_ / "b"); }).get();
}

TEST_P(FileTest, RawDescriptors) {
  in_task([&] {
    const int descriptor = ::open((folder_ / "a").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(descriptor, 0);
    const auto data = random_bytes(5000, seed());
    EXPECT_EQ(dovetail::pwrite(descriptor, data, 0), data.size());
    dovetail::fsync(descriptor);
    dovetail::fdatasync(descriptor);
    std::vector<std::byte> back(data.size());
    EXPECT_EQ(dovetail::pread(descriptor, back, 0), data.size());
    EXPECT_TRUE(back == data);
    auto reader = dovetail::spawn([&] { dovetail::ipread(descriptor, std::span(back).first(100), 7); });
    reader.get();
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 100, data.begin() + 7));
    EXPECT_EQ(::close(descriptor), 0);  // the library has not closed it
    EXPECT_THROW(dovetail::pread(descriptor, back, 0), IoError);
  });
}

TEST_P(FileTest, AFileDroppedWithOperationsInFlightEndsThemFirst) {
  Runtime runtime(options());
  const auto data = random_bytes(1 << 20, seed());
  for (int i = 0; i < 20; ++i) {
    const std::string path = folder_ / std::to_string(i);
    runtime
        .spawn([&] {
          const File file = File::open(path, O_WRONLY | O_CREAT);
          file.ipwrite(data, 0);
        })
        .get();
    File check = File::open(path, O_RDONLY);
    std::vector<std::byte> back(data.size());
    EXPECT_EQ(check.pread(back, 0), data.size());
    EXPECT_TRUE(back == data);
  }
}

TEST_P(FileTest, ErrorsNameThePlace) {
  in_task([&] {
    const std::string missing = folder_ / "missing";
    try {
      File::open(missing, O_RDONLY);
      FAIL() << "opened a missing file";
    } catch (const IoError& error) {
      EXPECT_EQ(error.code().value(), ENOENT);
      EXPECT_EQ(error.path(), missing);
      EXPECT_EQ(error.operation(), "open");
    }
    const std::string path = folder_ / "a";
    File::open(path, O_WRONLY | O_CREAT).pwrite(std::string(100, 'x'), 0);
    const File read_only = File::open(path, O_RDONLY);
    try {
      read_only.pwrite(std::string(50, 'x'), 12345);
      FAIL() << "wrote to a file that is open for reading";
    } catch (const IoError& error) {
      EXPECT_EQ(error.code().value(), EBADF);
      EXPECT_EQ(error.operation(), "pwrite");
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.offset(), 12345U);
      EXPECT_EQ(error.length(), 50U);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
    }
    std::string text(10, ' ');
    EXPECT_THROW(read_only.pread(text, UINT64_MAX), IoError);
    EXPECT_THROW(File().pread(text, 0), IoError);
    EXPECT_THROW(File::from_descriptor(-1), IoError);
  });
}

TEST_P(FileTest, ABoundErrorFailsItsTask) {
  Runtime runtime(options());
  const std::string path = folder_ / "a";
  File::open(path, O_WRONLY | O_CREAT).pwrite(std::string(100, 'x'), 0);
  const File file = File::open(path, O_RDONLY);
  auto failed = runtime.spawn({.label = "broken"}, [&] { file.ipwrite(std::string_view("abc"), 7); });
  try {
    failed.get();
    FAIL() << "the task did not fail";
  } catch (const TaskFailed& failure) {
    EXPECT_EQ(failure.label(), "broken");
    const IoError error = io_error_of(failure);
    EXPECT_EQ(error.code().value(), EBADF);
    EXPECT_EQ(error.offset(), 7U);
    EXPECT_EQ(error.path(), path);
  }
}

TEST_P(FileTest, SpacesFollowTheInode) {
  const std::string path = folder_ / "a";
  File one = File::open(path, O_RDWR | O_CREAT);
  ASSERT_EQ(link(path.c_str(), (folder_ / "b").c_str()), 0);
  File same = File::open(folder_ / "b", O_RDONLY);
  File other = File::open(folder_ / "c", O_RDWR | O_CREAT);
  EXPECT_NE(one.space(), 0U);
  EXPECT_EQ(one.space(), same.space());
  EXPECT_NE(one.space(), other.space());
  EXPECT_EQ(File::from_descriptor(one.descriptor()).space(), one.space());
}

TEST_P(FileTest, WhatIsAppendedStaysInOrder) {
  in_task([&] {
    const auto data = random_bytes(50001, seed());
    const std::string path = folder_ / "log";
    File file = File::open(path, O_RDWR | O_CREAT | O_APPEND, {.direct = Direct::automatic});
    EXPECT_FALSE(file.direct()) << "an unaligned transfer would be cut into pieces that go two ways";
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(file.pwrite(data, 0), data.size());
    }
    std::vector<std::byte> back(3 * data.size());
    ASSERT_EQ(file.pread(back, 0), back.size());
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin() + static_cast<std::ptrdiff_t>(i * data.size())));
    }
    try {
      File::open(path, O_RDWR | O_APPEND, {.direct = Direct::always});
      ADD_FAILURE() << "it cannot keep the order";
    } catch (const IoError& error) {
      EXPECT_EQ(error.code().value(), EINVAL);
    }
  });
}

TEST_P(FileTest, NoRegionOfNoFile) { EXPECT_THROW(in(File{}, 0, 1), IoError); }

TEST_P(FileTest, NopsPauseAndEnd) {
  Runtime runtime(options());
  std::atomic<int> ended{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn([&] {
      for (int k = 0; k < 50; ++k) {
        storage::nop();
      }
      ended.fetch_add(1);
    });
  }
  runtime.wait();
  EXPECT_EQ(ended.load(), 200);
}

DOVETAIL_FOR_EACH_ENGINE(FileTest);

}  // namespace
}  // namespace dovetail::test
