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

class AioQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    queue_ = AioQueue::make(why_not);
    if (queue_ == nullptr) {
      GTEST_SKIP() << why_not;
    }
    ASSERT_NE(file_, nullptr);
  }
  void submit(Request& request) { submit(request, fileno(file_.get())); }
  void submit(Request& request, int descriptor) {
    request.kind = Kind::fdatasync;
    request.descriptor = descriptor;
    queue_->submit(request);
  }

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  std::unique_ptr<AioQueue> queue_;
};

// A system call for each request would cost more than the request.
TEST_F(AioQueueTest, HandsOverInBatches) {
  std::vector<Request> requests(2 * AioQueue::batch);
  for (unsigned i = 0; i < requests.size(); ++i) {
    submit(requests[i]);
    EXPECT_EQ(queue_->gathered(), (i + 1) % AioQueue::batch);
  }
  std::array<Completion, AioQueue::batch> completions{};
  for (std::size_t taken = 0; taken < requests.size();) {
    const unsigned now = queue_->take(completions.data(), completions.size());
    for (unsigned i = 0; i < now; ++i) {
      EXPECT_EQ(completions[i].result, 0);
    }
    taken += now;
    std::this_thread::yield();
  }
  EXPECT_EQ(queue_->in_flight(), 0U);
}

// The system takes so many at once. The others follow when some have ended, in batches too.
TEST_F(AioQueueTest, KeepsWhatFindsItFull) {
  std::vector<Request> requests(AioQueue::entries + 3 * AioQueue::batch + 5);
  for (Request& request : requests) {
    submit(request);
    EXPECT_LE(queue_->in_flight(), AioQueue::entries);
  }
  EXPECT_EQ(queue_->in_flight(), AioQueue::entries);
  std::vector<int> ends(requests.size());
  std::array<Completion, AioQueue::entries> completions{};
  for (std::size_t taken = 0; taken < requests.size();) {
    const unsigned now = queue_->take(completions.data(), completions.size());
    for (unsigned i = 0; i < now; ++i) {
      ++ends[static_cast<std::size_t>(completions[i].request - requests.data())];
    }
    taken += now;
    queue_->refill();
    EXPECT_LE(queue_->gathered(), AioQueue::batch);
    if (now == 0) {
      queue_->flush();  // fewer than a batch wait for more
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(ends, std::vector<int>(requests.size(), 1));
}

// The system refuses to synchronise a device that has nothing to write: a thread tells the true error.
TEST_F(AioQueueTest, GivesBackWhatTheSystemRefuses) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> null(std::fopen("/dev/null", "r"), &std::fclose);
  ASSERT_NE(null, nullptr);
  Request request;
  submit(request, fileno(null.get()));
  queue_->flush();
  std::array<Completion, 2> completions{};
  ASSERT_EQ(queue_->take(completions.data(), completions.size()), 1U);
  EXPECT_EQ(completions[0].request, &request);
  EXPECT_TRUE(request.on_threads);
  EXPECT_EQ(queue_->in_flight(), 0U);
}

}  // namespace
}  // namespace dovetail::storage
