// What a write that fails or is cut short leaves behind: the bytes that it says it wrote, and a file that claims no more.
#include <fcntl.h>

#include "fault_engine.hpp"
#include "storage/open_file.hpp"
#include "storage/storage_service.hpp"
#include "storage/system_calls.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

using storage::Request;
using storage::StorageService;

// A device that cannot write a certain byte of the file, and answers in any order.
class BadByte final : public FaultPlan {
 public:
  explicit BadByte(std::uint64_t start) : random_(start) {}
  Fault next(const Request& request) override {
    const std::lock_guard lock(mutex_);
    Fault fault;
    fault.delay = std::chrono::microseconds(random_() % 300);
    const std::uint64_t byte = bad.load();
    if (storage::writes(request.kind) && request.offset <= byte && byte < request.offset + request.remaining) {
      // Attempts of half the length come near it bit by bit.
      fault.shorten = storage::attempt_of(request).kind == storage::Kind::write && random_() % 2 == 0 &&
                      request.attempt > 1 && request.offset + request.attempt / 2 <= byte;
      fault.error = fault.shorten ? 0 : ENOSPC;
    }
    return fault;
  }
  std::atomic<std::uint64_t> bad{UINT64_MAX};

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

// A device that moves any number of bytes of a direct write, also less than a block.
class ShortDirectWrites final : public storage::Engine {
 public:
  struct State {
    std::atomic<int> descriptor{-1};  // through the page cache, to do it
    std::atomic<std::uint64_t> most{1};
    std::atomic<int> cut{0};
  };
  ShortDirectWrites(StorageService& service, storage::Engine& inner, std::shared_ptr<State> state)
      : service_(service), inner_(inner), state_(std::move(state)) {}
  bool prepare(const storage::Request& request, unsigned worker) noexcept override {
    return inner_.prepare(request, worker);
  }
  void submit(Request& request, int worker) noexcept override {
    const bool direct = request.file != nullptr && request.descriptor == request.file->direct_descriptor();
    if (!storage::writes(request.kind) || !direct || state_->cut.fetch_sub(1) <= 0) {
      inner_.submit(request, worker);
      return;
    }
    const storage::Attempt attempt = storage::attempt_of(request);
    const bool list = storage::vectored(attempt.kind);
    const iovec first = list ? *static_cast<const iovec*>(attempt.address) : iovec{attempt.address, attempt.length};
    const std::size_t bytes = std::min<std::size_t>(first.iov_len, state_->most);
    const ssize_t moved = ::pwrite(state_->descriptor, first.iov_base, bytes, static_cast<off_t>(attempt.offset));
    service_.attempt_ended(request, moved < 0 ? -errno : moved, worker);
  }
  void flush(unsigned worker) noexcept override { inner_.flush(worker); }
  unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override { return inner_.poll(worker, scope); }

 private:
  StorageService& service_;
  storage::Engine& inner_;
  const std::shared_ptr<State> state_;
};

// How a program writes.
struct Way {
  bool bound = false;
  bool vectors = false;
  bool durable = false;  // not bound
};

Way random_way(std::mt19937_64& random) {
  Way way{.vectors = random() % 3 == 0, .durable = random() % 3 == 0};
  way.bound = (way.vectors || !way.durable) && random() % 2 == 0;
  return way;
}

std::size_t write_by(const Way& way, const File& file, std::span<const std::byte> data, std::uint64_t offset,
                     std::size_t& moved) {
  auto* begin = const_cast<std::byte*>(data.data());
  const std::size_t third = data.size() / 3;
  const std::vector<iovec> list = {{begin, third}, {begin + third, data.size() - third}};
  if (way.vectors) {
    return way.bound ? file.ipwritev(list, offset, &moved), 0 : moved = file.pwritev(list, offset);
  }
  if (way.durable) {
    return moved = file.pwrite_durable(data, offset);
  }
  return way.bound ? file.ipwrite(data, offset, &moved), 0 : moved = file.pwrite(data, offset);
}

class FailedWriteTest : public EngineTest {
 protected:
  std::vector<std::byte> contents(const std::string& name) const {
    const File file = File::open(folder_ / name, O_RDONLY);
    std::vector<std::byte> all(file.size());
    EXPECT_EQ(file.pread(all, 0), all.size());
    return all;
  }
};

TEST_P(FailedWriteTest, LeavesAFileThatClaimsNoMoreThanWasWritten) {
  const auto plan = std::make_shared<BadByte>(seed());
  FaultEngine::install(plan);
  Runtime runtime(options());
  std::mt19937_64 random(seed());
  const File beside = File::open(folder_ / "beside", O_RDWR | O_CREAT);
  const auto other = random_bytes(65536, seed());
  std::atomic<bool> ended{false};
  auto load = runtime.spawn([&] {
    for (std::uint64_t i = 0; !ended.load(); i = (i + 1) % 64) {
      std::vector<std::byte> back(other.size());
      beside.pread(back, i * other.size());
      this_task::yield();
    }
  });
  struct End {  // also of a test that fails
    std::atomic<bool>& ended;
    Future<void>& load;
    ~End() {
      ended.store(true);
      load.get();
    }
  } end{ended, load};
  for (std::size_t round = 0; round < scaled(60, 12); ++round) {
    const std::uint64_t old_size = random() % 3 == 0 ? 0 : random() % 200'000;
    const std::uint64_t offset = random() % 3 == 0 ? old_size : random() % (old_size + 5000);
    const std::size_t length = 1 + random() % (random() % 3 == 0 ? 2'500'000 : 30'000);
    const std::size_t skew = random() % 2 == 0 ? 0 : random() % 600;
    const std::uint64_t bad = offset + random() % length;
    const Way way = random_way(random);
    const auto old = random_bytes(old_size, random());
    auto buffer = random_bytes(length + skew, random());
    const std::span<const std::byte> data = std::span(buffer).subspan(skew);
    File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC,
                           {.direct = random() % 5 == 0 ? Direct::adaptive : Direct::automatic});
    plan->bad = UINT64_MAX;
    file.pwrite(old, 0);
    plan->bad = bad;
    std::size_t moved = 0;
    const std::string what = "round " + std::to_string(round) + ", size " + std::to_string(old_size) + ", offset " +
                             std::to_string(offset) + ", length " + std::to_string(length) + ", skew " +
                             std::to_string(skew) + ", the device fails at " + std::to_string(bad) +
                             (way.bound ? ", bound" : "") + (way.vectors ? ", vectors" : "") +
                             (way.durable ? ", durable" : "");
    std::uint64_t failed_at = 0;
    try {
      runtime.spawn([&] { write_by(way, file, data, offset, moved); }).get();
      FAIL() << "the write did not fail: " << what;
    } catch (const TaskFailed& failure) {
      const IoError error = io_error_of(failure);
      ASSERT_EQ(error.code().value(), ENOSPC) << what;
      failed_at = error.offset();
      ASSERT_EQ(error.length(), offset + length - failed_at) << what;
    }
    ASSERT_GE(failed_at, offset) << what;
    if (way.bound) {
      ASSERT_EQ(offset + moved, failed_at) << what;
    }
    const auto now = contents("a");
    const std::uint64_t claimed = failed_at == offset ? old_size : std::max<std::uint64_t>(old_size, failed_at);
    ASSERT_EQ(now.size(), claimed) << what << ", failed at " << failed_at;
    const auto begin = static_cast<std::ptrdiff_t>(offset);
    ASSERT_TRUE(
        failed_at == offset ||
        std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(failed_at - offset), now.begin() + begin))
        << what;
    const std::uint64_t before = std::min(offset, old_size);
    ASSERT_TRUE(std::equal(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(before), now.begin())) << what;
  }
}

TEST_P(FailedWriteTest, ShortDirectWritesOfAnyLengthAreContinued) {
  const auto state = std::make_shared<ShortDirectWrites::State>();
  StorageService::decorate_next = [state](StorageService& service, storage::Engine& inner) {
    return std::make_unique<ShortDirectWrites>(service, inner, state);
  };
  Runtime runtime(options());
  std::mt19937_64 random(seed());
  for (std::size_t round = 0; round < scaled(60, 12); ++round) {
    const std::uint64_t old_size = random() % 2 == 0 ? 0 : 400'000;
    const std::uint64_t offset = random() % 3 == 0 ? 4096 * (random() % 10) : random() % 20'000;
    const std::size_t length = 1 + random() % 300'000;
    const std::size_t skew = random() % 2 == 0 ? 0 : random() % 600;
    const Way way = random_way(random);
    auto buffer = random_bytes(length + skew, random());
    const std::span<const std::byte> data = std::span(buffer).subspan(skew);
    const File cached = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC);
    File file = File::open(folder_ / "a", O_RDWR, {.direct = Direct::automatic});
    if (!file.direct()) {
      GTEST_SKIP() << "this file system has no direct I/O";
    }
    cached.truncate(old_size);
    state->descriptor = cached.descriptor();
    state->most = random() % 2 == 0 ? 1 + random() % 4095 : 1 + random() % 20'000;
    state->cut = static_cast<int>(1 + random() % 5);
    std::size_t moved = 0;
    const std::string what = "round " + std::to_string(round) + ", offset " + std::to_string(offset) + ", length " +
                             std::to_string(length) + ", at most " + std::to_string(state->most);
    ASSERT_NO_THROW(runtime.spawn([&] { write_by(way, file, data, offset, moved); }).get()) << what;
    ASSERT_EQ(moved, length) << what;
    const auto now = contents("a");
    ASSERT_EQ(now.size(), std::max<std::uint64_t>(old_size, offset + length)) << what;
    ASSERT_TRUE(std::equal(data.begin(), data.end(), now.begin() + static_cast<std::ptrdiff_t>(offset))) << what;
  }
}

// A real file system that is full: started with SMALL_DISK by full_disk_test.py. The bytes that a write reports are there, and the
// file claims no more. The plain call on a file through the page cache gets no further.
TEST_P(FailedWriteTest, OnADiskThatIsFull) {
  const char* disk = std::getenv("SMALL_DISK");
  if (disk == nullptr) {
    GTEST_SKIP() << "SMALL_DISK is not set";
  }
  Runtime runtime(options());
  std::mt19937_64 random(seed());
  const std::string path = std::string(disk) + "/a";
  for (std::size_t round = 0; round < scaled(8, 4); ++round) {
    const std::uint64_t offset = random() % 3 == 0 ? 0 : random() % 100'000;
    const std::size_t length = 4'500'000 + random() % 2'000'000;
    const std::size_t skew = random() % 2 == 0 ? 0 : random() % 600;
    const Way way = random_way(random);
    auto buffer = random_bytes(length + skew, random());
    const std::span<const std::byte> data = std::span(buffer).subspan(skew);
    File file = File::open(path, O_RDWR | O_CREAT | O_TRUNC, {.direct = Direct::automatic});
    std::size_t moved = 0;
    std::uint64_t failed_at = 0;
    try {
      runtime.spawn([&] { write_by(way, file, data, offset, moved); }).get();
      FAIL() << "there was room";
    } catch (const TaskFailed& failure) {
      const IoError error = io_error_of(failure);
      ASSERT_EQ(error.code().value(), ENOSPC);
      failed_at = error.offset();
    }
    ASSERT_EQ(file.size(), failed_at) << "offset " << offset << " length " << length << " skew " << skew;
    std::vector<std::byte> now(failed_at - offset);
    ASSERT_EQ(file.pread(now, offset), now.size());
    ASSERT_TRUE(std::equal(now.begin(), now.end(), data.begin()));
    file.close();
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
}

DOVETAIL_FOR_EACH_ENGINE(FailedWriteTest);

}  // namespace
}  // namespace dovetail::test
