// One context of Linux' own asynchronous I/O.
#include "storage/aio_queue.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace dovetail::storage {
namespace {

// A system call for each request would cost more than the request.
TEST(AioQueue, HandsOverInBatches) {
  std::string why_not;
  const auto queue = AioQueue::make(why_not);
  if (queue == nullptr) {
    GTEST_SKIP() << why_not;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  std::vector<Request> requests(2 * AioQueue::batch);
  for (unsigned i = 0; i < requests.size(); ++i) {
    requests[i].kind = Kind::fdatasync;
    requests[i].descriptor = fileno(file.get());
    queue->submit(requests[i]);
    EXPECT_EQ(queue->gathered(), (i + 1) % AioQueue::batch);
  }
  std::array<Completion, AioQueue::batch> completions{};
  for (std::size_t taken = 0; taken < requests.size();) {
    const unsigned now = queue->take(completions.data(), completions.size());
    for (unsigned i = 0; i < now; ++i) {
      EXPECT_EQ(completions[i].result, 0);
    }
    taken += now;
    std::this_thread::yield();
  }
  EXPECT_EQ(queue->in_flight(), 0U);
}

// The system takes so many at once. The others follow when some have ended, in batches too.
TEST(AioQueue, KeepsWhatFindsItFull) {
  std::string why_not;
  const auto queue = AioQueue::make(why_not);
  if (queue == nullptr) {
    GTEST_SKIP() << why_not;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  std::vector<Request> requests(AioQueue::entries + 3 * AioQueue::batch + 5);
  for (Request& request : requests) {
    request.kind = Kind::fdatasync;
    request.descriptor = fileno(file.get());
    queue->submit(request);
    EXPECT_LE(queue->in_flight(), AioQueue::entries);
  }
  EXPECT_EQ(queue->in_flight(), AioQueue::entries);
  std::vector<int> ends(requests.size());
  std::array<Completion, AioQueue::entries> completions{};
  for (std::size_t taken = 0; taken < requests.size();) {
    const unsigned now = queue->take(completions.data(), completions.size());
    for (unsigned i = 0; i < now; ++i) {
      ++ends[static_cast<std::size_t>(completions[i].request - requests.data())];
    }
    taken += now;
    queue->refill();
    EXPECT_LE(queue->gathered(), AioQueue::batch);
    if (now == 0) {
      queue->flush();  // fewer than a batch wait for more
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(ends, std::vector<int>(requests.size(), 1));
}

}  // namespace
}  // namespace dovetail::storage
