// What the environment says of storage and of traces: taken where it makes sense, refused by name where it does not.
#include <fcntl.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "storage/storage_service.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

/// Sets a variable of the environment for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string refusal(const Options& options = {}) {
  try {
    Runtime runtime(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(EnvironmentTest, TheEngineIsTheOneNamed) {
  for (const char* engine : {"uring", "aio", "threads", "auto", ""}) {
    if ((std::string(engine) == "uring" && !ring_available()) || (std::string(engine) == "aio" && !aio_available())) {
      continue;
    }
    const Variable variable("DOVETAIL_ENGINE", engine);
    Folder folder;
    Runtime runtime(Options{.workers = 1});
    EXPECT_EQ(runtime.options().engine, engine);
    const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
    const auto data = random_bytes(20000, seed());
    std::vector<std::byte> back(data.size());
    runtime.spawn([&] { file.ipwrite(data, 0); }).get();
    runtime.spawn([&] { file.pread(back, 0); }).get();
    EXPECT_TRUE(back == data) << engine;
    const std::string why = storage::StorageService::of(runtime.core())->why();
    EXPECT_NE(why.find(std::string(engine) == "auto" ? "" : engine), std::string::npos) << why;
  }
}

TEST(EnvironmentTest, AnUnknownEngineIsRefusedByName) {
  for (const char* value : {"steam", "URING", "uring ", "uring,threads", "0", " "}) {
    const Variable variable("DOVETAIL_ENGINE", value);
    const std::string message = refusal();
    for (const char* word : {"DOVETAIL_ENGINE", value, "auto", "uring", "aio", "threads"}) {
      EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" is not in: " << message;
    }
    EXPECT_EQ(refusal(Options{.workers = 1, .engine = "threads"}), "") << "what code says wins";
  }
}

TEST(EnvironmentTest, ATraceIsWrittenWhenTheRuntimeEnds) {
  Folder folder;
  const std::string path = folder / "trace.json";
  std::ofstream(path) << "of another run";
  const Variable variable("DOVETAIL_TRACE", path);
  {
    Runtime runtime(Options{.workers = 1});
    EXPECT_EQ(text_of(path), "of another run") << "kept until there is something in its place";
    runtime.spawn({.label = "seen in the trace"}, [] {}).get();
  }
  const std::string text = text_of(path);
  EXPECT_NE(text.find("seen in the trace"), std::string::npos);
  EXPECT_EQ(text.find("of another run"), std::string::npos);
}

TEST(EnvironmentTest, ATraceThatCannotBeWrittenIsRefusedAtTheStart) {
  Folder folder;
  for (const auto& [path, reason] : {std::pair{folder / "no/such/folder/trace", "No such file or directory"},
                                     {folder / "", "Is a directory"},
                                     {std::string("/proc/version/trace"), "Not a directory"}}) {
    const auto refused = [&path, &reason](const std::string& message, const char* name) {
      for (const std::string& word : {std::string(name), path, std::string(reason)}) {
        EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" is not in: " << message;
      }
    };
    refused(refusal(Options{.workers = 1, .trace = path}), "Options::trace");
    const Variable variable("DOVETAIL_TRACE", path);
    refused(refusal(), "DOVETAIL_TRACE");
    EXPECT_FALSE(trace::recording());
  }
}

}  // namespace
}  // namespace dovetail::test
