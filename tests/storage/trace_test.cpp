// What the recording tells about requests.
#include <fcntl.h>

#include "support.hpp"
#include "trace/trace.hpp"

namespace dovetail::test {
namespace {

using StorageTraceTest = EngineTest;

TEST_P(StorageTraceTest, BytesAndTimeOfRequestsAreRecorded) {
  Runtime runtime(options());
  const auto data = random_bytes(1 << 20, seed());
  std::vector<std::byte> back(data.size());
  trace::start();
  {
    const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
    runtime
        .spawn([&] {
          file.pwrite(data, 0);
          file.fdatasync();
          file.ipread(std::span(back).first(500001), 0);
        })
        .get();
  }
  trace::stop();
  const trace::Summary summary = trace::summarize();
  EXPECT_EQ(summary.bytes_written, static_cast<double>(data.size()));
  EXPECT_EQ(summary.bytes_read, 500001.0);
  EXPECT_GT(summary.io, 0.0);
  EXPECT_LE(summary.io, summary.total);
}

DOVETAIL_FOR_EACH_ENGINE(StorageTraceTest);

}  // namespace
}  // namespace dovetail::test
