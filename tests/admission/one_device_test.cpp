// Two names of dovetail.toml that lead to one device. What one test does to the device is there for the next: the last one limits it.
#include <algorithm>

#include "admitted.hpp"
#include "device/device.hpp"

namespace dovetail::admission::test {
namespace {

class OneDevice : public Admission {
 protected:
  OneDevice() { configure("", ""); }

  void configure(const char* of_one, const char* of_two) const {
    std::ofstream file(config_);
    for (const auto& [name, write, more] : {std::tuple{"one", 100, of_one}, {"two", 50, of_two}}) {
      fs::create_directories(folder_ / name);
      file << "[[device]]\nname = \"" << name << "\"\npaths = [\"" << name << "\"]\nread = 100\nwrite = " << write
           << "\n"
           << more;
    }
  }

  static TaskDescription describe(const char* name, const StorageBandwidth& constraint) {
    return {.label = "write", .io = true, .storage_bw = constraint, .device = name};
  }

  json device() const {
    json found;
    const json report = json::parse(admission_report());
    for (const json& known : report.at("devices")) {
      const json& names = known.at("names");
      if (std::find(names.begin(), names.end(), "one") != names.end()) {
        EXPECT_TRUE(found.is_null()) << "it has one entry";
        found = known;
      }
    }
    return found;
  }
};

TEST_F(OneDevice, IsNotGivenAwayTwice) {
  Runtime runtime(options());
  Door door;
  for (const char* name : {"one", "two", "two"}) {
    runtime.spawn(describe(name, name == std::string("one") ? 50 : 25), [&] { door.pass(); });
  }
  door.wait_for(2);
  EXPECT_EQ(device().at("names"), (json{"one", "two"}));
  EXPECT_EQ(device().at("running"), 2) << "half of it each";
  EXPECT_EQ(device().at("waiting"), 1);
  door.let(3);
  runtime.wait();
}

TEST_F(OneDevice, HasOneSearchForItsLevel) {
  Runtime runtime(options());
  Door door;
  constexpr int tasks = 40;
  for (int i = 0; i < tasks; ++i) {
    runtime.spawn(describe(i % 2 == 0 ? "one" : "two", "adaptive"), [&] { door.pass(); });
  }
  int level = 0;
  const json used = device();
  for (const json& type : used.at("types")) {
    level = std::max(level, type.at("constraint") == "adaptive" ? type.at("at_once").get<int>() : 0);
  }
  EXPECT_GT(level, 0);
  EXPECT_LT(level, tasks / 2);
  door.wait_for(level);
  EXPECT_EQ(device().at("running"), level);
  EXPECT_EQ(device().at("waiting"), tasks - level);
  EXPECT_EQ(device::device_of(folder_.string()).tasks_at_once(), static_cast<unsigned>(level));
  door.let(tasks);
  runtime.wait();
  EXPECT_EQ(device::device_of(folder_.string()).tasks_at_once(), 0U);
}

// If it did not, it would wait for its parent, which waits for it.
TEST_F(OneDevice, AChildThatCallsItOtherwiseRunsInTheShareOfItsParent) {
  Runtime runtime(options());
  bool ran = false;
  runtime.spawn(describe("one", 100), [&] {
    spawn(describe("two", 50), [&] { ran = true; });
    wait();
  });
  runtime.wait();
  EXPECT_TRUE(ran);
}

TEST_F(OneDevice, IsLimitedByTheLeastOfTheNumbersThatItsNamesSay) {
  configure("most_at_once = 8\n", "most_at_once = 3\n");
  Runtime runtime(options());
  Door door;
  const std::string beside = folder_.string();  // that no name covers
  for (const std::string& name : {std::string("one"), std::string("two"), beside}) {
    for (int i = 0; i < 4; ++i) {
      runtime.spawn(describe(name.c_str(), "none"), [&] { door.pass(); });
    }
  }
  door.wait_for(3);
  EXPECT_EQ(device().at("most_at_once"), 3);
  EXPECT_EQ(device().at("running"), 3);
  EXPECT_EQ(device().at("waiting"), 9);
  door.let(12);
  runtime.wait();
}

}  // namespace
}  // namespace dovetail::admission::test
