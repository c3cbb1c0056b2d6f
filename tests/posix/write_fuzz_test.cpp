// Random writes through descriptors that are shared, replaced and opened for appending, on several kinds of file system. Each step is
// compared with a model that knows what the call has to give.
#include <dirent.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

// Above all numbers that the system gives by itself.
constexpr int first_number = 400;
constexpr int numbers = 5;
constexpr int files = 2;

/// What the system keeps for each open(): descriptors that were duplicated share it.
struct Description {
  int file;
  bool append;
  std::size_t position;
};

/// One task with files and descriptors of its own, so that each result is certain.
class Writer {
 public:
  Writer(std::string folder, int number, std::uint64_t start)
      : folder_(std::move(folder)), number_(number), random_(start) {}
  ~Writer() {
    for (int i = 0; i < numbers; ++i) {
      close(descriptor(i));
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void run(std::size_t steps) {
    for (int file = 0; file < files; ++file) {
      close(open(path(file).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644));
    }
    for (std::size_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
    }
    for (int file = 0; file < files; ++file) {
      EXPECT_EQ(contents(path(file)), model_[static_cast<std::size_t>(file)]) << "file " << file << " of " << number_;
    }
  }

 private:
  static constexpr std::size_t largest = 9000;

  int descriptor(int i) const { return first_number + number_ * numbers + i; }
  std::string path(int file) const { return folder_ + "/of" + std::to_string(number_) + "-" + std::to_string(file); }
  std::size_t any(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
  std::string text() {
    std::string made(any(4) == 0 ? any(largest) : any(60), ' ');
    std::generate(made.begin(), made.end(), [this] { return static_cast<char>('a' + any(26)); });
    return made;
  }

  void step() {
    const int i = static_cast<int>(any(numbers));
    switch (any(16)) {
      case 0:
        return reopen(i);
      case 1:
        return duplicate(i, static_cast<int>(any(numbers)));
      case 2:
        return check(i, "lseek", any(2 * largest),
                     [](Description& open, std::string&, std::size_t at, const std::string&) {
                       open.position = at;
                       return at;
                     });
      case 3:
        return check(i, "ftruncate", any(2 * largest),
                     [](Description&, std::string& file, std::size_t at, const std::string&) {
                       file.resize(at, '\0');
                       return std::size_t{0};
                     });
      case 4:
        return this_task::active() ? this_task::yield() : void();
      case 5:
        return check(i, "fsync", 0,
                     [](Description&, std::string&, std::size_t, const std::string&) { return std::size_t{0}; });
      case 6:
      case 7:
        return look(i);
      case 8:
      case 9:
      case 10:
        return check(i, any(2) == 0 ? "write" : "pwritev2", 0, write_at_position);
      case 11:
        return check(i, "writev", 0, write_at_position);
      case 12:
      case 13:
        return check(i, "pwrite", any(largest), write_at_offset);
      default:
        return check(i, "pwritev", any(largest), write_at_offset);
    }
  }

  void reopen(int i) {
    const int file = static_cast<int>(any(files));
    const bool append = any(3) == 0;
    const int made = open(path(file).c_str(), O_RDWR | O_CLOEXEC | (append ? O_APPEND : 0));
    ASSERT_GE(made, 0);
    ASSERT_EQ(dup2(made, descriptor(i)), descriptor(i));
    close(made);
    open_[static_cast<std::size_t>(i)] = std::make_shared<Description>(Description{file, append, 0});
  }
  void duplicate(int from, int to) {
    auto& source = open_[static_cast<std::size_t>(from)];
    auto& target = open_[static_cast<std::size_t>(to)];
    if (any(3) == 0) {
      EXPECT_EQ(close(descriptor(to)), target ? 0 : -1);
      target.reset();
      return;
    }
    const int result = dup2(descriptor(from), descriptor(to));
    EXPECT_EQ(result, source ? descriptor(to) : -1);
    if (source) {
      target = source;
    }
  }

  static std::size_t put(std::string& file, std::size_t at, const std::string& text) {
    if (!text.empty()) {
      file.resize(std::max(file.size(), at + text.size()), '\0');
      file.replace(at, text.size(), text);
    }
    return text.size();
  }
  static std::size_t write_at_position(Description& open, std::string& file, std::size_t, const std::string& text) {
    if (open.append && !text.empty()) {
      open.position = file.size();
    }
    const std::size_t written = put(file, open.position, text);
    open.position += written;
    return written;
  }
  // Linux appends whatever the offset says (pwrite(2), "BUGS").
  static std::size_t write_at_offset(Description& open, std::string& file, std::size_t at, const std::string& text) {
    return put(file, open.append ? file.size() : at, text);
  }

  long call(const std::string& name, int file, std::size_t at, std::string& text) {
    const auto offset = static_cast<off_t>(at);
    const std::array<iovec, 3> parts = {iovec{text.data(), text.size() / 3}, iovec{nullptr, 0},
                                        iovec{text.data() + text.size() / 3, text.size() - text.size() / 3}};
    if (name == "write") {
      return write(file, text.data(), text.size());
    }
    if (name == "writev") {
      return writev(file, parts.data(), 3);
    }
    if (name == "pwrite") {
      return ::pwrite(file, text.data(), text.size(), offset);
    }
    if (name == "pwritev") {
      return ::pwritev(file, parts.data(), 3, offset);
    }
    if (name == "pwritev2") {
      return ::pwritev2(file, parts.data(), 3, -1, 0);  // -1: where the descriptor is
    }
    if (name == "lseek") {
      return lseek(file, offset, SEEK_SET);
    }
    if (name == "fsync") {
      return ::fsync(file);
    }
    return ftruncate(file, offset);
  }

  template <class Model>
  void check(int i, const std::string& name, std::size_t at, Model&& model) {
    std::string given = text();
    errno = 0;
    const long result = call(name, descriptor(i), at, given);
    const int error = errno;
    const auto& open = open_[static_cast<std::size_t>(i)];
    if (!open) {
      EXPECT_EQ(result, -1) << name;
      EXPECT_EQ(error, EBADF) << name;
      return;
    }
    std::string& file = model_[static_cast<std::size_t>(open->file)];
    const auto expected = static_cast<long>(model(*open, file, at, given));
    EXPECT_EQ(result, expected) << name << " of " << given.size() << " bytes, errno " << error;
    EXPECT_EQ(lseek(descriptor(i), 0, SEEK_CUR), static_cast<off_t>(open->position)) << "after " << name;
  }

  void look(int i) {
    const bool here = any(2) == 0;
    const std::size_t at = any(largest);
    std::string back(any(largest) + 1, '.');
    const ssize_t got = here ? read(descriptor(i), back.data(), back.size())
                             : ::pread(descriptor(i), back.data(), back.size(), static_cast<off_t>(at));
    const auto& open = open_[static_cast<std::size_t>(i)];
    if (!open) {
      EXPECT_EQ(got, -1);
      return;
    }
    const std::string& file = model_[static_cast<std::size_t>(open->file)];
    const std::size_t from = here ? open->position : at;
    const std::string expected = from < file.size() ? file.substr(from, back.size()) : std::string();
    ASSERT_EQ(got, static_cast<ssize_t>(expected.size()));
    EXPECT_EQ(back.substr(0, expected.size()), expected);
    if (here) {
      open->position += expected.size();
    }
    EXPECT_EQ(lseek(descriptor(i), 0, SEEK_CUR), static_cast<off_t>(open->position));
  }

  const std::string folder_;
  const int number_;
  std::mt19937_64 random_;
  std::array<std::shared_ptr<Description>, numbers> open_;
  std::array<std::string, files> model_;
};

void fuzz(const std::string& folder, std::size_t steps) {
  // First without tasks, as the C library alone does it: so the model is right.
  Writer(folder, 0, seed()).run(steps);
  for (const unsigned executors : {64U, 1U}) {
    Runtime runtime(Options{.workers = 2, .io_executors = executors});
    for (int task = 0; task < 6; ++task) {
      runtime.spawn([&, task] { Writer(folder, task, seed() + static_cast<std::uint64_t>(task)).run(steps); });
    }
    runtime.wait();
  }
}

TEST(WriteFuzzTest, OnTheDisk) {
  const Folder folder;
  fuzz(folder / ".", scaled(4000, 600));
}

TEST(WriteFuzzTest, InMemory) {
  std::string folder = "/dev/shm/dovetail-test-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    GTEST_SKIP() << "no /dev/shm here";
  }
  fuzz(folder, scaled(4000, 600));
  EXPECT_EQ(std::system(("rm -rf '" + folder + "'").c_str()), 0);
}

TEST(WriteFuzzTest, WhereSomeCallsTakeLonger) {
  const FaultFolder faults;
  if (!faults.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  faults.rules("read,write delay=1 every=5");
  fuzz(faults / ".", scaled(600, 120));
}

}  // namespace
}  // namespace dovetail::test
