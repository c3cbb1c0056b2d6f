// A trace: whatever labels, reasons, files and numbers were recorded, in whatever order, the file is JSON.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fuzzer.hpp"
#include "source.hpp"
#include "trace/export.hpp"
#include "trace/summary.hpp"

namespace dovetail::fuzz {
namespace {

trace::Recording recording_of(Source& source) {
  trace::Recording recording;
  recording.clock = trace::ClockScale({0, 0}, {1'000'000, 1'000'000});
  for (unsigned count = 1 + source.byte() % 6; count > 0; --count) {
    recording.names.push_back(source.text());
    recording.operations.push_back(source.text());
  }
  for (unsigned count = source.byte() % 4; count > 0; --count) {
    trace::ThreadEvents& thread = recording.threads.emplace_back();
    thread.kind = static_cast<trace::ThreadKind>(source.byte() % 3);
    thread.index = source.byte();
    thread.lost = source.byte() % 7 == 0 ? source.number() : 0;
  }
  std::uint64_t now = 0;
  while (!source.ended() && !recording.threads.empty()) {
    trace::Event event;
    now = (now + source.byte()) % 1'000'000;
    const auto kind = static_cast<trace::Kind>(source.byte() % trace::kinds);
    event.stamp = trace::make_stamp(kind, now);
    event.id = source.byte() % 8;
    event.value = source.number();
    event.detail = trace::make_detail(source.byte(), source.byte(), source.number());
    recording.threads[source.byte() % recording.threads.size()].events.push_back(event);
  }
  return recording;
}

// A file of this process that goes away with it.
struct Path {
  Path() {
    std::string name =
        std::filesystem::is_directory("/dev/shm") ? "/dev/shm/dovetail-fuzz-XXXXXX" : "/tmp/dovetail-fuzz-XXXXXX";
    ::close(mkstemp(name.data()));
    path = name;
  }
  ~Path() { std::filesystem::remove(path); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  std::string path;
};

}  // namespace

std::vector<std::string> seeds() {
  std::string all =
      "\x03\x05label\x05pread\x06reason\x05write\x04"
      "file\x05"
      "fsync\x02";
  all += std::string("\x01\x00\x01\x02\x01\x01", 6);
  for (char kind = 0; kind < static_cast<char>(trace::kinds); ++kind) {
    all += std::string("\x09", 1) + kind + std::string("\x01\x10\x01\x01\x20\x00", 6);
    all += std::string("\x09", 1) + kind + std::string("\x02\x10\x02\x00\x40\x01", 6);
  }
  return {"", all, "\x02\x03\"\\\n\x03\xff\xfe\x80\x02\xc0\x80\x01\x01\x01", repeated(all, 20)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  static const fuzz::Path file;
  fuzz::Source source(fuzz::text_of(data, size));
  const trace::Recording recording = fuzz::recording_of(source);
  trace::write(recording, file.path);
  std::ifstream stream(file.path, std::ios::binary);
  const nlohmann::json written = nlohmann::json::parse(stream, nullptr, false);
  fuzz::require(!written.is_discarded(), "the trace is JSON");
  fuzz::require(written.at("traceEvents").is_array(), "the trace has events");
  const trace::Summary summary = trace::summarize(recording);
  fuzz::require(summary.io >= 0 && summary.compute >= 0, "no time is negative");
  return 0;
}
