// A path that contains a zero byte is refused by every door, and the file whose name ends there is left alone.
#include <fcntl.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using namespace std::string_literals;

// What the door says; it must show where the zero byte is.
template <class Error>
std::string refusal(const std::function<void()>& door) {
  try {
    door();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return "another kind of error: "s + error.what();
  }
  return "not refused";
}

class ZeroByteTest : public EngineTest {
 protected:
  const std::string cut_ = folder_ / "name";
  const std::string path_ = cut_ + "\0behind"s;
  bool cut_was_made() const { return access(cut_.c_str(), F_OK) == 0; }
};

TEST_P(ZeroByteTest, FilesAreNotOpened) {
  Runtime runtime(options());
  for (const bool exists : {false, true}) {
    if (exists) {
      File::open(cut_, O_RDWR | O_CREAT);
    }
    for (const Direct direct : {Direct::never, Direct::automatic}) {
      const auto open = [&] { File::open(path_, O_RDWR | O_CREAT | O_TRUNC, {.direct = direct}); };
      EXPECT_NE(refusal<IoError>(open).find("name\\0behind"), std::string::npos) << refusal<IoError>(open);
      EXPECT_NE(refusal<TaskFailed>([&] { runtime.spawn(open).get(); }).find("name\\0behind"), std::string::npos);
    }
    EXPECT_EQ(cut_was_made(), exists);
  }
}

TEST_P(ZeroByteTest, NorAnythingElse) {
  const auto shows = [](const std::string& text) { return text.find("\\0") != std::string::npos ? "shown" : text; };
  EXPECT_EQ(shows(refusal<std::system_error>([&] { trace::write(path_); })), "shown");
  EXPECT_EQ(shows(refusal<std::invalid_argument>([&] {
              Options given = options();
              given.trace = path_;
              const Runtime runtime(given);
            })),
            "shown");
  EXPECT_FALSE(cut_was_made());
}

INSTANTIATE_TEST_SUITE_P(Engines, ZeroByteTest, testing::Values("auto", "threads"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace dovetail::test
