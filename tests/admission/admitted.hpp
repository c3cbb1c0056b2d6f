// What tests of admission in a runtime share: a device of their own, and bodies that wait.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "dovetail/dovetail.hpp"

namespace dovetail::admission::test {

namespace fs = std::filesystem;
using nlohmann::json;

/// Bodies that wait here until they are let go.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ > 0; });
    --open_;
    --inside_;
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= count; });
  }
  void let(int count) {
    std::lock_guard lock(mutex_);
    open_ += count;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  int open_ = 0;
};

class Admission : public testing::Test {
 protected:
  // Devices are shared by all runtimes of a process: each test has its own. It has no paths, since those of all tests are in one file system.
  Admission() {
    std::string name = (fs::temp_directory_path() / "dovetail-gate-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
    device_ = folder_.filename().string();
    config_ = (folder_ / "dovetail.toml").string();
    fs::create_directory(folder_ / "data");
    std::ofstream(config_) << "[[device]]\nname = \"" << device_ << "\"\nread = 200\nwrite = 100\n";
  }
  ~Admission() override {
    fs::remove_all(folder_);
    unsetenv("XDG_STATE_HOME");
  }

  Options options(unsigned executors = 16) const {
    Options result;
    result.workers = 2;
    result.io_executors = executors;
    result.config = config_;
    return result;
  }
  TaskDescription describe(const StorageBandwidth& constraint, const char* label = "write") const {
    return {.label = label, .io = true, .storage_bw = constraint, .device = device_};
  }
  json device() const {
    const json report = json::parse(admission_report());
    for (const json& known : report.at("devices")) {
      if (known.at("name") == device_) {
        return known;
      }
    }
    return {};
  }

  fs::path folder_;
  std::string device_;
  std::string config_;
};

}  // namespace dovetail::admission::test
