// Tasks write a staged file while calls fail at random, and their process ends; or bits of what it has left are changed. What was acknowledged is there, or it
// is said that it is not. DOVETAIL_TEST_ROUNDS: how many faults of each kind.
#include <fcntl.h>
#include <sys/wait.h>

#include <atomic>
#include <bitset>
#include <cstdlib>
#include <mutex>

#include "base/descriptor.hpp"
#include "dovetail/dovetail.hpp"
#include "staging/shared_tiered_file.hpp"
#include "staging/tier_support.hpp"

namespace dovetail::staging {
namespace {

constexpr std::size_t file_bytes = 60'000;
constexpr std::size_t most_bytes = 6'000;
constexpr std::uint64_t most_steps = 60;

// What a step does: a change, acknowledged before or after it is durable, or a sync.
enum class Kind { change, durable_change, sync };
Kind kind_of(std::uint64_t start, std::uint64_t step) {
  const std::uint64_t number = std::mt19937_64(start * 31 + step)() % 10;
  return number == 0 ? Kind::sync : number < 4 ? Kind::durable_change : Kind::change;
}
Change change_of(std::uint64_t start, std::uint64_t step) { return Change::some(start, step, file_bytes, most_bytes); }

enum class Told : char { done = 'd', failed = 'f' };

unsigned rounds() {
  const char* const given = std::getenv("DOVETAIL_TEST_ROUNDS");
  return given == nullptr ? 15 : static_cast<unsigned>(std::atoi(given));
}

/// What each byte of the file may be, and how long it may be: a change that has failed may have been made in part.
class Possible {
 public:
  void change(const Change& change, bool is_done) {
    const std::uint64_t end = change.is_write ? change.offset + change.data.size() : change.offset;
    if (!change.is_write) {
      for (std::size_t each = change.offset; each < bytes_.size(); ++each) {
        may_be(each, std::byte{0}, is_done);
      }
      least_ = is_done ? end : std::min(least_, end);
      most_ = is_done ? end : std::max(most_, end);
      return;
    }
    for (std::size_t each = 0; each < change.data.size(); ++each) {
      may_be(change.offset + each, change.data[each], is_done);
    }
    least_ = is_done ? std::max(least_, end) : least_;
    most_ = std::max(most_, end);
  }
  /// Empty: it may be so.
  std::string objection_to(const Bytes& found) const {
    if (found.size() < least_ || found.size() > most_) {
      return std::to_string(found.size()) + " bytes, not " + std::to_string(least_) + " to " + std::to_string(most_);
    }
    for (std::size_t each = 0; each < found.size(); ++each) {
      if (!bytes_.at(each).test(std::to_integer<std::size_t>(found[each]))) {
        return "byte " + std::to_string(each);
      }
    }
    return {};
  }

 private:
  void may_be(std::size_t at, std::byte value, bool is_certain) {
    bytes_.at(at) = is_certain ? std::bitset<256>() : bytes_.at(at);
    bytes_.at(at).set(std::to_integer<std::size_t>(value));
  }
  std::vector<std::bitset<256>> bytes_ = std::vector<std::bitset<256>>(file_bytes + most_bytes, std::bitset<256>(1));
  std::uint64_t least_ = 0;
  std::uint64_t most_ = 0;
};

class RandomFaultTest : public TierTest {
 protected:
  /// In a child, which ends without closing the file. What it was told of each step.
  std::vector<Told> run_tasks(std::uint64_t start, bool with_faults) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      child_of(start, with_faults, ends[1]);
    }
    ::close(ends[1]);
    std::vector<Told> told;
    for (char each = 0; ::read(ends[0], &each, 1) == 1;) {
      told.push_back(static_cast<Told>(each));
    }
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    return told;
  }

  void begin() {
    put(final_path, {});
    std::filesystem::remove_all(log);
  }

 private:
  [[noreturn]] void child_of(std::uint64_t start, bool with_faults, int tell) {
    std::mutex mutex;
    std::mt19937_64 random(start);
    const std::uint64_t steps = 1 + random() % most_steps;
    calls.before = [&](const WatchedCalls::Asked& asked) {
      const std::lock_guard lock(mutex);
      if (!with_faults || random() % 12 != 0 || asked.kind == WatchedCalls::Kind::attribute) {
        return WatchedCalls::Fault{};
      }
      const std::uint64_t which = random() % 3;
      return which == 0   ? WatchedCalls::Fault{.error = EIO}
             : which == 1 ? WatchedCalls::Fault{.error = ENOSPC}
                          : WatchedCalls::Fault{.most = 1 + random() % 2000};
    };
    if (::freopen("/dev/null", "w", stderr) == nullptr) {
      ::_exit(3);
    }
    const SharedTieredFile::Opened first = SharedTieredFile::open(tier, final_path, settings);
    if (first.failure) {
      ::_exit(0);  // nothing was acknowledged
    }
    Runtime runtime({.workers = 1});
    File file = File::open(final_path, O_RDWR, {.staged = true, .tier = tier});
    for (std::uint64_t step = 0; step < steps; ++step) {
      Told result = Told::done;
      try {
        runtime.spawn([&] { make(file, start, step); }).get();
      } catch (const std::exception&) {
        result = Told::failed;
      }
      if (::write(tell, &result, 1) != 1) {
        ::_exit(4);
      }
    }
    ::_exit(0);
  }

  static void make(const File& file, std::uint64_t start, std::uint64_t step) {
    const Kind kind = kind_of(start, step);
    const Change change = change_of(start, step);
    if (kind == Kind::sync) {
      file.fdatasync();
    } else if (!change.is_write) {
      file.truncate(change.offset);
    } else if (kind == Kind::durable_change) {
      file.pwrite_durable(change.data, change.offset);
    } else {
      file.pwrite(change.data, change.offset);
    }
  }
};

TEST_F(RandomFaultTest, CallsThatFailLoseNothingThatWasAcknowledged) {
  std::mt19937_64 random(test::seed());
  std::size_t failed = 0;
  for (unsigned round = 0; round < rounds(); ++round) {
    const std::uint64_t start = random();
    SCOPED_TRACE("round " + std::to_string(start));
    begin();
    const std::vector<Told> told = run_tasks(start, true);
    Possible possible;
    for (std::uint64_t step = 0; step < told.size(); ++step) {
      failed += told[step] == Told::failed ? 1 : 0;
      if (kind_of(start, step) != Kind::sync) {
        possible.change(change_of(start, step), told[step] == Told::done);
      }
    }
    ASSERT_EQ(recover(log).failure.text(), "");
    ASSERT_EQ(possible.objection_to(bytes_of(final_path)), "");
    ASSERT_FALSE(std::filesystem::exists(log));
  }
  EXPECT_NE(failed, 0U);
}

// A bit is changed, or a segment torn. Records that were not durable may be missing from there on, and never others without a word.
TEST_F(RandomFaultTest, DamageIsToldOrWasNeverDurable) {
  std::mt19937_64 random(test::seed() + 1);
  std::size_t refused = 0;
  for (unsigned round = 0; round < rounds(); ++round) {
    const std::uint64_t start = random();
    SCOPED_TRACE("round " + std::to_string(start));
    begin();
    const std::vector<Told> told = run_tasks(start, false);
    const std::vector<std::string> files = segments();
    if (files.empty()) {
      continue;  // nothing was written
    }
    const std::string& segment = files[random() % files.size()];
    Bytes bytes = bytes_of(segment);
    if (bytes.empty()) {
      continue;  // a drain in the background had just made it
    }
    const std::size_t at = random() % bytes.size();
    const bool is_torn = random() % 2 == 0;
    if (!is_torn) {
      bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
    } else {
      bytes.resize(at);
    }
    put(segment, bytes);
    const FileFailure failure = recover(log).failure;
    if (failure) {
      ++refused;
      EXPECT_EQ(failure.error, EBADMSG) << failure.text();
      ASSERT_FALSE(segments().empty());
      continue;
    }
    PlainModel model;
    const Bytes found = bytes_of(final_path);
    bool is_of_an_instant = same(found, model.bytes);
    for (std::uint64_t step = 0; step < told.size(); ++step) {
      ASSERT_EQ(told[step], Told::done);
      const Kind kind = kind_of(start, step);
      const Change change = change_of(start, step);
      if (kind != Kind::sync && change.is_write) {
        model.write(change.offset, change.data);
      } else if (kind != Kind::sync) {
        model.set_size(change.offset);
      }
      // What is torn off takes with it what says that it was durable.
      const bool is_durable = !is_torn && (kind == Kind::sync || (kind == Kind::durable_change && change.is_write));
      const bool is_this = same(found, model.bytes);
      is_of_an_instant = is_this || (is_of_an_instant && !is_durable);
    }
    ASSERT_TRUE(is_of_an_instant);
  }
  EXPECT_TRUE(refused != 0 || rounds() < 10);
}

}  // namespace
}  // namespace dovetail::staging
