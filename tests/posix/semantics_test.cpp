// Each call gives inside a task what it gives outside: result, errno, data, file position and contents of the file.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <climits>
#include <functional>
#include <vector>

#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

struct Seen {
  std::vector<long> results;
  std::vector<int> errors;
  std::string data;
  off_t position = 0;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  for (std::size_t i = 0; i < seen.results.size(); ++i) {
    out << seen.results[i] << " (errno " << seen.errors[i] << ") ";
  }
  return out << "at " << seen.position << ", data of " << std::hash<std::string>{}(seen.data);
}

// What a case may use: an open file, a buffer, and a place for results.
struct Bench {
  int file = -1;
  std::string buffer = std::string(16384, '.');
  Seen seen;

  char* at(std::size_t place) { return buffer.data() + place; }
  template <class Function>
  void call(Function&& function) {
    errno = 4711;
    const long result = function();
    const int error = errno;
    seen.results.push_back(result);
    seen.errors.push_back(error);
  }
};

struct Case {
  const char* name;
  int flags;
  std::function<void(Bench&)> run;
};

// Read at run time: the compiler, rightly, warns of what these tests do on purpose.
volatile std::uintptr_t nowhere_address = 8;
volatile int minus_one = -1;
void* nowhere() { return reinterpret_cast<void*>(nowhere_address); }

std::vector<Case> cases() {
  return {
      {"pread", O_RDONLY,
       [](Bench& b) {
         b.call([&] { return ::pread(b.file, b.at(0), 4096, 0); });
         b.call([&] { return ::pread(b.file, b.at(4096), 5000, 4000); });
         b.call([&] { return pread64(b.file, b.at(9096), 1, 9999); });
       }},
      {"pread around the end", O_RDONLY,
       [](Bench& b) {
         b.call([&] { return ::pread(b.file, b.at(0), 4096, 9000); });
         b.call([&] { return ::pread(b.file, b.at(0), 4096, 10000); });
         b.call([&] { return ::pread(b.file, b.at(0), 4096, 1'000'000); });
         b.call([&] { return ::pread(b.file, b.at(0), 0, 0); });
       }},
      {"pread refused", O_RDONLY,
       [](Bench& b) {
         b.call([&] { return ::pread(b.file, b.at(0), 100, -1); });
         b.call([&] { return ::pread(b.file, b.at(0), 100, LONG_MIN); });
         b.call([&] { return ::pread(b.file, b.at(0), 100, LONG_MAX - 10); });
         b.call([&] { return ::pread(b.file, nowhere(), 100, 0); });
         b.call([&] { return ::pread(-1, b.at(0), 100, 0); });
         b.call([&] { return ::pread(100'000, b.at(0), 100, 0); });
         b.call([&] { return ::pwrite(b.file, b.at(0), 100, 0); });
         b.call([&] { return write(b.file, b.at(0), 100); });
       }},
      {"read moves the position", O_RDONLY,
       [](Bench& b) {
         b.call([&] { return read(b.file, b.at(0), 3000); });
         b.call([&] { return read(b.file, b.at(3000), 3000); });
         b.call([&] { return read(b.file, b.at(6000), 5000); });
         b.call([&] { return read(b.file, b.at(11000), 5000); });
         b.call([&] { return lseek(b.file, 9990, SEEK_SET); });
         b.call([&] { return read(b.file, b.at(12000), 100); });
         b.call([&] { return read(b.file, nowhere(), 0); });
       }},
      {"read into nowhere", O_RDONLY,
       [](Bench& b) {
         b.call([&] { return read(b.file, nowhere(), 100); });
         b.call([&] { return read(b.file, b.at(0), 100); });
       }},
      {"vectors", O_RDWR,
       [](Bench& b) {
         const iovec vectors[] = {{b.at(0), 10}, {b.at(50), 0}, {b.at(100), 3000}, {b.at(4000), 4096}};
         b.call([&] { return readv(b.file, vectors, 4); });
         b.call([&] { return preadv(b.file, vectors, 4, 5); });
         b.call([&] { return preadv64(b.file, vectors, 4, 9990); });
         b.call([&] { return preadv2(b.file, vectors, 4, 7, 0); });
         b.call([&] { return preadv64v2(b.file, vectors, 4, -1, 0); });
         b.call([&] { return pwritev(b.file, vectors, 4, 100); });
         b.call([&] { return writev(b.file, vectors, 3); });
         b.call([&] { return pwritev2(b.file, vectors, 4, -1, 0); });
         b.call([&] { return pwritev64v2(b.file, vectors, 4, 20000, RWF_DSYNC); });
         b.call([&] { return pwritev2(b.file, vectors, 4, 0, RWF_APPEND); });
       }},
      {"vectors refused", O_RDWR,
       [](Bench& b) {
         const iovec bad[] = {{b.at(0), 10}, {nowhere(), 10}};
         const iovec endless[] = {{b.at(0), SSIZE_MAX}, {b.at(0), SSIZE_MAX}};
         const std::vector<iovec> many(IOV_MAX + 1, {b.at(0), 1});
         b.call([&] { return readv(b.file, bad, 2); });
         b.call([&] { return readv(b.file, static_cast<iovec*>(nowhere()), 2); });
         b.call([&] { return preadv(b.file, static_cast<iovec*>(nowhere()), 2, 0); });
         b.call([&] { return pwritev(b.file, static_cast<iovec*>(nowhere()), 2, 0); });
         b.call([&] { return readv(b.file, bad, minus_one); });
         b.call([&] { return preadv(b.file, bad, minus_one, 0); });
         b.call([&] { return readv(b.file, bad, 0); });
         b.call([&] { return preadv(b.file, endless, 2, 0); });
         b.call([&] { return readv(b.file, many.data(), static_cast<int>(many.size())); });
         b.call([&] { return preadv2(b.file, bad, 1, 0, 0x4000'0000); });
         b.call([&] { return pwritev2(b.file, bad, 1, 0, 0x4000'0000); });
         b.call([&] { return preadv2(b.file, bad, 1, -2, 0); });
       }},
      {"many vectors", O_RDWR,
       [](Bench& b) {
         std::vector<iovec> vectors;
         for (std::size_t i = 0; i < IOV_MAX; ++i) {
           vectors.push_back({b.at(i * 16), i % 17});
         }
         b.call([&] { return preadv(b.file, vectors.data(), IOV_MAX, 0); });
         b.call([&] { return writev(b.file, vectors.data(), IOV_MAX); });
       }},
      {"writes", O_RDWR,
       [](Bench& b) {
         b.call([&] { return write(b.file, b.at(0), 5000); });
         b.call([&] { return ::pwrite(b.file, b.at(0), 100, 3); });
         b.call([&] { return pwrite64(b.file, b.at(0), 100, 30'000); });
         b.call([&] { return write(b.file, b.at(0), 0); });
         b.call([&] { return ::pwrite(b.file, b.at(0), 10, -5); });
         b.call([&] { return write(b.file, nowhere(), 10); });
         b.call([&] { return ::fsync(b.file); });
         b.call([&] { return ::fdatasync(b.file); });
       }},
      {"appending", O_RDWR | O_APPEND,
       [](Bench& b) {
         b.call([&] { return write(b.file, "first", 5); });
         b.call([&] { return ::pwrite(b.file, "second", 6, 0); });
         b.call([&] { return lseek(b.file, 0, SEEK_SET); });
         b.call([&] { return write(b.file, "third", 5); });
         b.call([&] { return read(b.file, b.at(0), 100); });
         const iovec vector{b.at(0), 10};
         b.call([&] { return pwritev2(b.file, &vector, 1, 3, RWF_APPEND); });
       }},
      {"write only", O_WRONLY,
       [](Bench& b) {
         b.call([&] { return read(b.file, b.at(0), 100); });
         b.call([&] { return ::pread(b.file, b.at(0), 100, 0); });
         b.call([&] { return write(b.file, b.at(0), 100); });
       }},
      {"direct, not aligned", O_RDONLY | O_DIRECT,
       [](Bench& b) {
         b.call([&] { return ::pread(b.file, b.at(1), 4096, 0); });
         b.call([&] { return ::pread(b.file, b.at(0), 100, 0); });
       }},
      {"what cannot be read", O_RDONLY | O_PATH,
       [](Bench& b) {
         b.call([&] { return read(b.file, b.at(0), 100); });
         b.call([&] { return ::fsync(b.file); });
       }},
  };
}

// The same start for each: 10 000 bytes of a pattern that names its place.
std::string pattern() {
  std::string text;
  while (text.size() < 10'000) {
    text += std::to_string(text.size()) + ",";
  }
  return text.substr(0, 10'000);
}

Seen run_case(const Case& one, const std::string& path, bool cold) {
  const int made = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
  const std::string start = pattern();
  EXPECT_EQ(bare_write(made, start.data(), start.size()), 10'000);
  if (cold) {
    syscall(SYS_fsync, made);
    posix_fadvise(made, 0, 0, POSIX_FADV_DONTNEED);
  }
  close(made);
  Bench bench;
  bench.file = open(path.c_str(), one.flags);
  if (bench.file < 0) {
    bench.seen.errors.push_back(errno);  // O_DIRECT, where there is none
    return bench.seen;
  }
  one.run(bench);
  bench.seen.position = lseek(bench.file, 0, SEEK_CUR);
  close(bench.file);
  bench.seen.data = bench.buffer + contents(path);
  return bench.seen;
}

void compare_all(const std::function<std::string(const std::string&)>& place) {
  Runtime runtime(Options{.workers = 1});
  for (const bool cold : {false, true}) {
    for (const Case& one : cases()) {
      const Seen outside = run_case(one, place("file"), cold);
      const Seen inside = runtime.spawn([&] { return run_case(one, place("file"), cold); }).get();
      EXPECT_EQ(inside, outside) << one.name << (cold ? ", cold" : "");
      const Seen io = runtime.spawn({.io = true}, [&] { return run_case(one, place("file"), cold); }).get();
      EXPECT_EQ(io, outside) << one.name << (cold ? ", cold, in an I/O task" : ", in an I/O task");
    }
  }
}

TEST(SemanticsTest, OnDisk) {
  const Folder folder;
  compare_all([&](const std::string& name) { return folder / name; });
}

TEST(SemanticsTest, WhereEveryCallWaits) {
  const FaultFolder folder;
  if (!folder.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  compare_all([&](const std::string& name) { return folder / name; });
}

TEST(SemanticsTest, FaultsOfTheDevice) {
  const FaultFolder folder;
  if (!folder.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  const Case transfers{"faults", O_RDWR, [](Bench& b) {
                         const iovec vectors[] = {{b.at(0), 10}, {b.at(100), 3000}};
                         for (int i = 0; i < 2; ++i) {
                           b.call([&] { return read(b.file, b.at(0), 1000); });
                           b.call([&] { return ::pread(b.file, b.at(1000), 1000, 500); });
                           b.call([&] { return preadv(b.file, vectors, 2, 500); });
                           b.call([&] { return write(b.file, b.at(0), 1000); });
                           b.call([&] { return ::pwrite(b.file, b.at(0), 1000, 7); });
                           b.call([&] { return ::fsync(b.file); });
                           b.call([&] { return ::fdatasync(b.file); });
                         }
                       }};
  Runtime runtime(Options{.workers = 1});
  for (const char* rules : {"read error=EIO every=2", "write error=ENOSPC every=3", "read short=300", "write short=300",
                            "read error=EAGAIN every=2", "read error=EINTR every=2", "write error=EINTR every=2",
                            "fsync error=EIO", "write error=ENOSPC after=11500"}) {
    const auto seen = [&] {
      folder.rules("");
      const int made = open((folder / "file").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
      const std::string start = pattern();
      EXPECT_EQ(bare_write(made, start.data(), start.size()), 10'000);
      close(made);
      Bench bench;
      bench.file = open((folder / "file").c_str(), O_RDWR);
      folder.rules(rules);
      transfers.run(bench);
      folder.rules("");
      bench.seen.position = lseek(bench.file, 0, SEEK_CUR);
      close(bench.file);
      bench.seen.data = bench.buffer + contents(folder.behind("file"));
      return bench.seen;
    };
    const Seen outside = seen();
    EXPECT_EQ(runtime.spawn(seen).get(), outside) << rules;
  }
}

TEST(SemanticsTest, WhatIsNotAFile) {
  const auto seen = [] {
    Bench b;
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    b.call([&] { return write(ends[1], "through a pipe", 14); });
    b.call([&] { return read(ends[0], b.at(0), 100); });
    b.call([&] { return ::pread(ends[0], b.at(0), 100, 0); });
    b.call([&] { return ::fsync(ends[0]); });
    b.call([&] { return close(ends[0]); });
    b.call([&] {
      signal(SIGPIPE, SIG_IGN);
      return write(ends[1], "x", 1);
    });
    close(ends[1]);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    b.call([&] { return read(ends[0], b.at(100), 100); });
    b.call([&] { return write(ends[1], "through a socket", 16); });
    b.call([&] { return read(ends[0], b.at(100), 100); });
    b.call([&] { return ::pwrite(ends[0], b.at(100), 100, 0); });
    close(ends[0]);
    close(ends[1]);
    for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/proc/self/comm", "/", "/sys/kernel/mm"}) {
      const int file = open(path, O_RDONLY);
      const int writable = open(path, O_WRONLY);
      b.call([&] { return read(file, b.at(200), 100); });
      b.call([&] { return ::pread(file, b.at(300), 100, 0); });
      b.call([&] { return write(writable, "x", 1); });
      b.call([&] { return ::fsync(file); });
      close(file);
      close(writable);
    }
    b.seen.data = b.buffer;
    return b.seen;
  };
  std::string name(16, '\0');
  pthread_getname_np(pthread_self(), name.data(), name.size());
  const Seen outside = seen();
  pthread_setname_np(pthread_self(), name.c_str());
  Runtime runtime(Options{.workers = 1});
  EXPECT_EQ(runtime.spawn(seen).get(), outside);
}

TEST(SemanticsTest, ThisProgramIsInterposed) {
  // Else everything above compares the C library with itself.
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(dlsym(RTLD_DEFAULT, "dovetail_posix_attach")), &info), 0);
  EXPECT_NE(std::string(info.dli_fname).find("libdovetail-posix.so"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::test
