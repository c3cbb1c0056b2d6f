// One worker, and a file system that holds every call back: whatever is under way at once was started by tasks that paused.
#include <sys/uio.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

constexpr unsigned tasks = 12;

class PauseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!folder_.available()) {
      GTEST_SKIP() << "no FUSE here";
    }
    for (unsigned i = 0; i < tasks; ++i) {
      const int file = open(path(i).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
      const std::string text = text_of(i);
      ASSERT_EQ(bare_write(file, text.data(), text.size()), 8192);
      close(file);
    }
  }

  std::string path(unsigned task) const { return folder_ / ("file" + std::to_string(task)); }
  static std::string text_of(unsigned task) { return std::string(8192, static_cast<char>('a' + task)); }

  // Runs `body` in so many tasks on one worker, and lets the calls go when all tasks are in one.
  void all_at_once(const char* rule, const std::function<void(unsigned)>& body, unsigned calls = tasks) {
    folder_.rules(rule);
    Runtime runtime(Options{.workers = 1});
    std::atomic<unsigned> ended{0};
    for (unsigned i = 0; i < tasks; ++i) {
      runtime.spawn([&, i] {
        body(i);
        ended.fetch_add(1);
      });
    }
    folder_.await(calls);
    EXPECT_EQ(ended.load(), 0U);
    // The core is free: a task that does not touch the file runs to its end.
    EXPECT_EQ(runtime.spawn([] { return 5; }).get(), 5);
    folder_.rules("");
    runtime.wait();
    EXPECT_EQ(ended.load(), tasks);
  }
  const FaultFolder folder_;
};

TEST_F(PauseTest, Pread) {
  all_at_once("read hold", [&](unsigned i) {
    const int file = open(path(i).c_str(), O_RDONLY);
    std::string text(8192, '\0');
    EXPECT_EQ(::pread(file, text.data(), text.size(), 0), 8192);
    EXPECT_EQ(text, text_of(i));
    close(file);
  });
}

TEST_F(PauseTest, ReadOfTheFilePosition) {
  all_at_once("read hold", [&](unsigned i) {
    const int file = open(path(i).c_str(), O_RDONLY);
    std::string text(8192, '\0');
    EXPECT_EQ(lseek(file, 192, SEEK_SET), 192);
    EXPECT_EQ(read(file, text.data(), text.size()), 8000);
    EXPECT_EQ(text.substr(0, 8000), text_of(i).substr(192));
    EXPECT_EQ(lseek(file, 0, SEEK_CUR), 8192);
    close(file);
  });
}

TEST_F(PauseTest, Vectors) {
  all_at_once("read,write hold", [&](unsigned i) {
    const int file = open(path(i).c_str(), O_RDWR);
    std::string text(8192, '\0');
    iovec vectors[] = {{text.data(), 5000}, {text.data() + 5000, 3192}};
    if (i % 2 == 0) {
      EXPECT_EQ(preadv(file, vectors, 2, 0), 8192);
      EXPECT_EQ(text, text_of(i));
    } else {
      text.assign(8192, '#');
      EXPECT_EQ(pwritev(file, vectors, 2, 0), 8192);
    }
    close(file);
  });
  for (unsigned i = 0; i < tasks; ++i) {
    EXPECT_EQ(contents(path(i)), i % 2 == 0 ? text_of(i) : std::string(8192, '#'));
  }
}

TEST_F(PauseTest, Writes) {
  all_at_once("write hold", [&](unsigned i) {
    const int file = open(path(i).c_str(), O_RDWR);
    const std::string text(4096, static_cast<char>('A' + i));
    if (i % 2 == 0) {
      EXPECT_EQ(::pwrite(file, text.data(), text.size(), 4096), 4096);
    } else {
      EXPECT_EQ(lseek(file, 4096, SEEK_SET), 4096);
      EXPECT_EQ(write(file, text.data(), text.size()), 4096);
    }
    close(file);
  });
  for (unsigned i = 0; i < tasks; ++i) {
    EXPECT_EQ(contents(path(i)), text_of(i).substr(0, 4096) + std::string(4096, static_cast<char>('A' + i)));
  }
}

TEST_F(PauseTest, Syncs) {
  all_at_once("fsync hold", [&](unsigned i) {
    const int file = open(path(i).c_str(), O_RDWR);
    EXPECT_EQ(i % 2 == 0 ? ::fsync(file) : ::fdatasync(file), 0);
    close(file);
  });
}

TEST_F(PauseTest, Fstream) {
  all_at_once("read hold", [&](unsigned i) {
    std::ifstream file(path(i), std::ios::binary);
    std::string text(8192, '\0');
    file.read(text.data(), 8192);
    EXPECT_TRUE(file.good());
    EXPECT_EQ(text, text_of(i));
    EXPECT_EQ(file.get(), std::char_traits<char>::eof());
  });
  all_at_once("write hold", [&](unsigned i) {
    std::ofstream file(path(i), std::ios::binary | std::ios::trunc);
    for (int line = 0; line < 5000; ++line) {
      file << i << " wrote line " << line << "\n";
    }
    file.close();
    EXPECT_TRUE(file.good());
  });
  for (unsigned i = 0; i < tasks; ++i) {
    std::string expected;
    for (int line = 0; line < 5000; ++line) {
      expected += std::to_string(i) + " wrote line " + std::to_string(line) + "\n";
    }
    EXPECT_EQ(contents(path(i)), expected);
  }
}

TEST_F(PauseTest, TheThreadStaysTheSame) {
  // What compilers and libraries keep across a call: the address of errno, of other thread-locals, a thread's name.
  Runtime runtime(Options{.workers = 2});
  for (unsigned i = 0; i < tasks; ++i) {
    runtime.spawn([&, i] {
      const int file = open(path(i).c_str(), O_RDONLY);
      const int wrong = open(path(i).c_str(), O_WRONLY);
      for (int round = 0; round < 50; ++round) {
        const pid_t before = gettid();
        int& error = errno;
        char byte = 0;
        error = 0;
        ASSERT_EQ(::pread(file, &byte, 1, round), 1);
        ASSERT_EQ(gettid(), before);
        ASSERT_EQ(error, 0);
        ASSERT_EQ(::pread(wrong, &byte, 1, 0), -1);
        ASSERT_EQ(error, EBADF);
        this_task::yield();
      }
      close(file);
      close(wrong);
    });
  }
  runtime.wait();
}

// Standard streams of C take a lock that belongs to the thread. They reach the system past us, and must: two tasks of one
// worker that print would otherwise be in the lock at once.
TEST_F(PauseTest, StreamsOfCBlockInPlace) {
  folder_.rules("");
  FILE* file = fopen(path(0).c_str(), "w");
  setvbuf(file, nullptr, _IONBF, 0);
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> inside{false};
  for (unsigned i = 0; i < tasks; ++i) {
    runtime.spawn([&, i] {
      EXPECT_FALSE(inside.exchange(true));
      EXPECT_EQ(fprintf(file, "%2u %s", i, "prints this\n"), 15);
      inside.store(false);
    });
  }
  runtime.wait();
  fclose(file);
  EXPECT_EQ(contents(path(0)).size(), 15 * tasks);
}

}  // namespace
}  // namespace dovetail::test
