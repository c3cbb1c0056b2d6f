// What runs remember of devices.
#include "device/remembered.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/last_resort.hpp"
#include "support.hpp"

namespace dovetail::device {
namespace {

class Memory : public testing::Test {
 protected:
  Memory() { setenv("XDG_STATE_HOME", (folder_ / "").c_str(), 1); }
  ~Memory() override { unsetenv("XDG_STATE_HOME"); }
  test::Folder folder_;
};

TEST_F(Memory, RemembersLevelsAndCurves) {
  EXPECT_FALSE(recall_level("a").at_once);
  EXPECT_TRUE(remember_level("a", {3, 250.5}));
  const std::vector<Level> curve{{1, 200}, {2, 390.5}, {8, 400}};
  EXPECT_TRUE(remember_curve("a", Direction::write, curve));
  EXPECT_TRUE(remember_level("b", {7, 0}));
  EXPECT_EQ(recall_level("a"), (Level{3, 250.5}));
  EXPECT_EQ(recall_level("b"), (Level{7, 0}));
  EXPECT_EQ(recall_curve("a", Direction::write), curve);
  EXPECT_TRUE(recall_curve("a", Direction::read).empty());
  EXPECT_TRUE(recall_curve("b", Direction::write).empty());
}

TEST_F(Memory, ADamagedOrForeignFileIsIgnoredWithOneWarning) {
  testing::internal::CaptureStderr();
  for (const char* text : {"{", "[]", "{\"version\": 2, \"devices\": {}}", "{\"version\": 1}", "", "\xff\xfe",
                           "{\"version\": 1, \"devices\": {\"a\": 4}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": -3, \"mb_per_second\": \"x\"}}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": 1e300, \"measured_write\": 400}}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"measured_write\": [4, {\"at_once\": 1}]}}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"measured_write\": "
                           "[{\"at_once\": 2, \"mb_per_second\": 1}, {\"at_once\": 2, \"mb_per_second\": 1}]}}}"}) {
    folder_.write("dovetail/admission.json", text);
    EXPECT_FALSE(recall_level("a").at_once) << text;
    EXPECT_TRUE(recall_curve("a", Direction::write).empty()) << text;
    EXPECT_TRUE(remember_level("b", {2, 1})) << text;
    EXPECT_TRUE(recall_level("b").at_once) << text;
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("what earlier runs learned is ignored"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(Memory, RunsAtTheSameTimeLoseNothing) {
  constexpr int runs = 6;
  constexpr int rounds = 20;
  std::vector<pid_t> children;
  for (int run = 0; run < runs; ++run) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(test::last_resort_seconds);
      for (int round = 1; round <= rounds; ++round) {
        // A process that is refused the lock asks again; all get it in the end.
        while (!remember_level("device " + std::to_string(run), {static_cast<unsigned>(round), 1})) {
          sched_yield();
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int run = 0; run < runs; ++run) {
    const auto found = recall_level("device " + std::to_string(run));
    EXPECT_EQ(found.at_once, static_cast<unsigned>(rounds));
  }
}

TEST_F(Memory, AFolderThatCannotBeWrittenIsNoError) {
  setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
  EXPECT_FALSE(remember_level("a", {3, 1}));
  EXPECT_FALSE(recall_level("a").at_once);
}

}  // namespace
}  // namespace dovetail::device
