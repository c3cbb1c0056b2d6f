// Several tasks close, replace and reopen descriptors while others read from them. A model that knows what each number stood
// for, and when, is compared with it.
#include <atomic>
#include <cerrno>
#include <mutex>

#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

// What a number stands for: the letter its file is full of, or
constexpr char closed = '!';
constexpr char zeros = '0';  // /dev/zero, which is no file
// Above all numbers that the system gives by itself, so that nothing but this test puts something there.
constexpr int first_slot = 300;
constexpr int slots = 12;

class Slot {
 public:
  // Announced before it is done, so that a task that looks in between allows for both.
  std::size_t announce(char what) {
    const std::lock_guard lock(mutex_);
    history_.push_back(what);
    return history_.size() - 1;
  }
  void settle(std::size_t entry) {
    const std::lock_guard lock(mutex_);
    settled_ = entry;
  }
  std::size_t since() {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  std::string allowed(std::size_t since) {
    const std::lock_guard lock(mutex_);
    return history_.substr(since);
  }
  std::mutex changing;  // One change at a time. Held across no call that may pause.

 private:
  std::mutex mutex_;
  std::string history_{closed};
  std::size_t settled_ = 0;
};

class Fuzz {
 public:
  Fuzz(std::string folder, std::uint64_t start) : folder_(std::move(folder)), start_(start) {
    for (char letter = 'a'; letter <= 'f'; ++letter) {
      const int file = open(path(letter).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      const std::string text(16384, letter);
      EXPECT_EQ(bare_write(file, text.data(), text.size()), 16384);
      syscall(SYS_fsync, file);
      close(file);
    }
  }
  ~Fuzz() {
    for (int slot = 0; slot < slots; ++slot) {
      close(first_slot + slot);
    }
  }

  void run(unsigned workers, unsigned executors, std::size_t steps) {
    Runtime runtime(Options{.workers = workers, .io_executors = executors});
    for (unsigned task = 0; task < 24; ++task) {
      runtime.spawn([this, task, steps] {
        std::mt19937_64 random(start_ + task);
        for (std::size_t i = 0; i < steps; ++i) {
          step(random);
        }
      });
    }
    runtime.wait();
  }
  std::size_t right() const { return right_.load(); }

 private:
  std::string path(char letter) const { return letter == zeros ? "/dev/zero" : folder_ + "/" + letter; }

  void step(std::mt19937_64& random) {
    const auto number = static_cast<int>(random() % slots);
    const auto chance = random() % 10;
    if (chance == 0) {
      replace(number, closed);
    } else if (chance < 3) {
      replace(number, "abcdef0"[random() % 7]);
    } else if (chance == 3) {
      this_task::yield();
    } else {
      look(number, random);
    }
  }

  void replace(int number, char what) {
    Slot& slot = slots_[number];
    if (!slot.changing.try_lock()) {
      return;
    }
    const std::size_t entry = slot.announce(what);
    // By bare system calls: ThreadSanitizer, rightly, calls it a race to close what others read from.
    if (what == closed) {
      syscall(SYS_close, first_slot + number);
    } else {
      const int file = open(path(what).c_str(), O_RDONLY | O_CLOEXEC);
      EXPECT_EQ(number % 2 == 0 ? syscall(SYS_dup2, file, first_slot + number)
                                : syscall(SYS_dup3, file, first_slot + number, O_CLOEXEC),
                first_slot + number);
      if (what != zeros) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // the next reader has to wait
      }
      close(file);
    }
    slot.settle(entry);
    slot.changing.unlock();
  }

  void look(int number, std::mt19937_64& random) {
    Slot& slot = slots_[number];
    const std::size_t since = slot.since();
    char text[512];
    errno = 0;
    const auto length = 1 + random() % sizeof text;
    const ssize_t got = random() % 2 == 0
                            ? ::pread(first_slot + number, text, length, static_cast<off_t>(random() % 15000))
                            : read(first_slot + number, text, length);
    const int error = errno;
    const std::string allowed = slot.allowed(since);
    if (got < 0) {
      EXPECT_EQ(error, EBADF);
      // Also if it stood for another file when its turn came.
      EXPECT_TRUE(allowed.size() > 1 || allowed[0] == closed) << allowed;
      return;
    }
    if (got == 0) {  // read, at the end
      lseek(first_slot + number, 0, SEEK_SET);
      return;
    }
    EXPECT_EQ(static_cast<std::size_t>(got) == length || allowed != std::string(1, zeros), true);
    const char what = text[0] == '\0' ? zeros : text[0];
    EXPECT_TRUE(allowed.find(what) != std::string::npos) << what << " is none of " << allowed;
    EXPECT_EQ(std::string(text, static_cast<std::size_t>(got)), std::string(static_cast<std::size_t>(got), text[0]));
    right_.fetch_add(1);
  }

  const std::string folder_;
  const std::uint64_t start_;
  Slot slots_[slots];
  std::atomic<std::size_t> right_{0};
};

TEST(FuzzTest, DescriptorsThatChange) {
  const Folder plain;
  const FaultFolder faults;
  const std::size_t steps = scaled(600, 100);
  {
    Fuzz on_disk(plain / ".", seed());
    on_disk.run(2, 64, steps);
    on_disk.run(1, 2, steps);
    EXPECT_GT(on_disk.right(), steps);
  }
  if (faults.available()) {
    Fuzz waiting(faults / ".", seed() + 1000);
    waiting.run(2, 4, steps / 4);
    EXPECT_GT(waiting.right(), 0U);
  }
}

}  // namespace
}  // namespace dovetail::test
