// The power fails, as far as that can be simulated: of what was not synced, some is there, some is not, and some is there in part. What was durable
// is there, and the file is as it was at some instant after that.
#include <map>
#include <optional>

#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

// Knows of each file what the device has for certain, and what it may have.
class ForgetfulCalls : public FileCalls {
 public:
  std::int64_t write(int descriptor, std::span<const iovec> parts, std::uint64_t offset) noexcept override {
    const std::int64_t written = FileCalls::write(descriptor, parts, offset);
    Bytes data;
    for (const iovec& part : parts) {
      const auto* const begin = static_cast<const std::byte*>(part.iov_base);
      data.insert(data.end(), begin, begin + part.iov_len);
    }
    data.resize(static_cast<std::size_t>(written));
    file_of(descriptor).pending.push_back({offset, std::move(data), false});
    return written;
  }
  int resize(int descriptor, std::uint64_t bytes) noexcept override {
    file_of(descriptor).pending.push_back({bytes, {}, true});
    return FileCalls::resize(descriptor, bytes);
  }
  int sync(int descriptor, bool data_only) noexcept override {
    const std::string path = name_of(descriptor);
    if (std::filesystem::is_directory(path)) {
      std::erase_if(files_, [&](const auto& each) { return each.second.removed && in(each.first, path); });
      for (auto& [name, file] : files_) {
        file.named = file.named || in(name, path);
      }
    } else {
      File& file = file_of(descriptor);
      file.durable = bytes_of("/proc/self/fd/" + std::to_string(descriptor));
      file.pending.clear();
    }
    return FileCalls::sync(descriptor, data_only);
  }
  int remove(int folder, const char* name) noexcept override {
    const int result = FileCalls::remove(folder, name);
    const auto at = files_.find(name_of(folder) + "/" + name);
    if (result == 0 && at != files_.end()) {
      at->second.removed = true;
    }
    return result;
  }

  std::size_t drains_behind_end = 0;

  /// The file is there as it is now.
  void know(const std::string& path) { files_[path] = {.durable = bytes_of(path), .pending = {}, .named = true}; }

  /// The power fails when so many crash points have been passed; `failed` is called then.
  void fail_after(std::size_t points, std::function<void()> failed) {
    points_left_ = points;
    failed_ = std::move(failed);
  }
  void reached(CrashPoint point) noexcept override {
    drains_behind_end += point == CrashPoint::draining_noted ? 1 : 0;
    if (points_left_ != 0 && --points_left_ == 0) {
      at_failure_ = files_;
      failed_();
    }
  }

  /// Puts all files into a state that they may have after the power has failed, now or earlier.
  void fail(const std::string& folder, std::mt19937_64& random) {
    if (at_failure_) {
      std::filesystem::remove_all(folder);
      files_ = *at_failure_;
    }
    for (auto& [path, file] : files_) {
      const bool there = file.removed || !file.named ? random() % 2 == 0 : true;
      if (!there) {
        std::filesystem::remove(path);
        continue;
      }
      for (const Pending& each : file.pending) {
        apply(each, file.durable, random);
      }
      const std::filesystem::path in = std::filesystem::path(path).parent_path();
      std::filesystem::create_directories(in);
      if (in == folder) {
        std::filesystem::permissions(in, std::filesystem::perms::owner_all);
      }
      put_in_place(path, file.durable);
    }
    files_.clear();
  }

 private:
  struct Pending {
    std::uint64_t offset;
    Bytes data;
    bool is_size;
  };
  struct File {
    Bytes durable;
    std::vector<Pending> pending;
    bool named = false;
    bool removed = false;
  };

  // Sectors come one by one, in any order.
  static void apply(const Pending& pending, Bytes& bytes, std::mt19937_64& random) {
    constexpr std::size_t sector = 512;
    if (pending.is_size) {
      bytes.resize(random() % 2 == 0 ? pending.offset : bytes.size());
      return;
    }
    const unsigned luck = static_cast<unsigned>(random() % 4);  // 0: nothing comes, 3: everything
    for (std::size_t at = 0; at < pending.data.size();) {
      const std::size_t until =
          std::min<std::size_t>(pending.data.size(), at + sector - (pending.offset + at) % sector);
      if (random() % 3 < luck) {
        bytes.resize(std::max<std::size_t>(bytes.size(), pending.offset + until));
        std::copy(pending.data.begin() + static_cast<std::ptrdiff_t>(at),
                  pending.data.begin() + static_cast<std::ptrdiff_t>(until),
                  bytes.begin() + static_cast<std::ptrdiff_t>(pending.offset + at));
      }
      at = until;
    }
  }
  // The final file stays the same file.
  static void put_in_place(const std::string& path, const Bytes& bytes) {
    put(path, bytes);
    ::chmod(path.c_str(), 0600);
  }
  static bool in(const std::string& name, const std::string& folder) {
    return std::filesystem::path(name).parent_path() == folder;
  }
  static std::string name_of(int descriptor) {
    const std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor)).string();
    // It gets its name when it is whole.
    return path.ends_with("/placement.new") ? path.substr(0, path.size() - 4) : path;
  }
  File& file_of(int descriptor) { return files_[name_of(descriptor)]; }

  std::map<std::string, File> files_;
  std::optional<std::map<std::string, File>> at_failure_;
  std::size_t points_left_ = 0;
  std::function<void()> failed_;
};

class TierPowerTest : public TierTest {
 protected:
  /// What was durable is there, and the file is whole, as it was at some instant. `appends`: its changes begin at its end.
  void lose_power(bool appends);
};

void TierPowerTest::lose_power(bool appends) {
  std::mt19937_64 random(test::seed());
  std::size_t lost = 0;
  std::size_t behind_end = 0;
  settings.segment_bytes = 5'000;
  for (std::size_t run = 0; run < test::scaled(appends ? 70 : 140, 40); ++run) {
    ForgetfulCalls forgetful;
    settings.calls = &forgetful;
    const std::uint64_t start = random();
    std::vector<Bytes> states = {test::random_bytes(random() % 40'000, start)};
    put(final_path, states.back());
    forgetful.know(final_path);
    auto file = open();
    std::size_t durable = 0;
    std::size_t durable_then = 0;
    std::size_t states_then = 0;
    forgetful.fail_after(1 + random() % 150, [&] {
      durable_then = durable;
      states_then = states.size();
    });
    for (std::uint64_t number = random() % 60; number > 0; --number) {
      Change change = Change::some(start, number, 60'000, 10'000);
      if (appends) {
        change.offset = states.back().size() + (random() % 4 == 0 ? random() % 3'000 : 0);
      }
      PlainModel model{states.back()};
      change.make(model);
      states.push_back(model.bytes);
      ASSERT_EQ(change.make(*file).text(), "");
      const std::uint64_t what = random() % 15;
      if (what < 3) {
        ASSERT_EQ(what == 0 ? file->drain().text() : file->sync().text(), "");
        durable = states.size() - 1;
      }
    }
    if (random() % 2 == 0) {
      ASSERT_EQ(random() % 2 == 0 ? file->finish().text() : file->drain().text(), "");
      durable = states.size() - 1;
    }
    file.reset();
    forgetful.fail(log, random);
    if (states_then != 0) {
      durable = durable_then;
      states.resize(states_then);
    }
    settings.calls = &FileCalls::system();
    ASSERT_EQ(recover(log, settings).failure.text(), "") << "run " << run;
    const Bytes seen = bytes_of(final_path);
    std::size_t found = durable;
    while (found < states.size() && !same(seen, states[found])) {
      ++found;
    }
    ASSERT_LT(found, states.size()) << "run " << run << ": " << durable << " of " << states.size() - 1
                                    << " were durable";
    lost += found + 1 < states.size() ? 1 : 0;
    behind_end += forgetful.drains_behind_end;
  }
  EXPECT_GT(lost, 0U) << "nothing was forgotten";
  EXPECT_TRUE(!appends || behind_end > 0);
}

TEST_F(TierPowerTest, WhatWasDurableIsThereAndTheFileIsWholeAtSomeInstant) { lose_power(false); }

// Its drains do not wait for the tier.
TEST_F(TierPowerTest, SoItIsWhereItOnlyGrows) { lose_power(true); }

}  // namespace
}  // namespace dovetail::staging
