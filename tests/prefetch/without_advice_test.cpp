// A file system that does not care for advice: what `dovetail::prefetch` is asked for is read then. No file system on this machine is one, so `posix_fadvise` is
// a double here, which does nothing.
#include <fcntl.h>

#include <atomic>

#include "dovetail/dovetail.hpp"
#include "prefetch/cold_file.hpp"
#include "tasking/background.hpp"

namespace {

std::atomic<int> ignored = 0;
bool ignores = false;  // set before anything is asked for

}  // namespace

extern "C" int posix_fadvise(int descriptor, off_t offset, off_t bytes, int advice) noexcept {
  if (ignores && advice == POSIX_FADV_WILLNEED) {
    ++ignored;
    return 0;
  }
  return posix_fadvise64(descriptor, offset, bytes, advice);
}

namespace dovetail {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(WithoutAdviceTest, WhatIsAskedForIsReadAndNothingElse) {
  const test::Variable gap("DOVETAIL_PREFETCH_GAP_KB", "0");
  const test::ColdFile cold(8 * mebibyte);
  ignores = true;
  {
    const File file = File::open(cold.path(), O_RDONLY);
    // The system's own reading ahead would bring more than is asked for.
    ASSERT_EQ(posix_fadvise64(file.descriptor(), 0, 0, POSIX_FADV_RANDOM), 0);
    prefetch(file, {{4 * mebibyte, mebibyte}, {mebibyte, 256 << 10}});
    cold.await({{4 * mebibyte, mebibyte}, {mebibyte, 256 << 10}});
    EXPECT_GT(ignored, 0);
    cold.expect_cached(mebibyte + (256U << 10));
  }
  tasking::end_background();
}

}  // namespace
}  // namespace dovetail
