// How a request becomes attempts.
#include "storage/request.hpp"

#include <climits>

#include "storage/bounce.hpp"
#include "support.hpp"

namespace dovetail::storage {
namespace {

Request reading(std::byte* data, std::uint64_t length, std::uint64_t offset) {
  Request request;
  request.kind = Kind::read;
  request.data = data;
  request.remaining = length;
  request.offset = offset;
  plan_attempt(request);
  return request;
}

TEST(Request, WaitsInTheLaneOfItsKind) {
  constexpr std::uint64_t large = device::small_request + 1;
  EXPECT_EQ(lane_of(Kind::read, false, device::small_request), device::buffered_read_small);
  EXPECT_EQ(lane_of(Kind::readv, false, large), device::buffered_read_large);
  EXPECT_EQ(lane_of(Kind::write, false, 1), device::buffered_write_small);
  EXPECT_EQ(lane_of(Kind::writev, false, large), device::buffered_write_large);
  EXPECT_EQ(lane_of(Kind::read, true, 1), device::direct_read_small);
  EXPECT_EQ(lane_of(Kind::read, true, large), device::direct_read_large);
  EXPECT_EQ(lane_of(Kind::write, true, 1), device::direct_write_small);
  EXPECT_EQ(lane_of(Kind::write, true, large), device::direct_write_large);
  for (const Kind kind : {Kind::fsync, Kind::fdatasync, Kind::open, Kind::fallocate}) {
    EXPECT_EQ(lane_of(kind, false, large), metadata);
  }
}

TEST(Request, ShortTransfersAreContinued) {
  std::byte memory[100];
  Request request = reading(memory, 100, 1000);
  EXPECT_EQ(attempt_of(request).length, 100U);
  ASSERT_TRUE(attempt_done(request, 30));
  const Attempt second = attempt_of(request);
  EXPECT_EQ(second.address, memory + 30);
  EXPECT_EQ(second.length, 70U);
  EXPECT_EQ(second.offset, 1030U);
  ASSERT_FALSE(attempt_done(request, 70));
  EXPECT_EQ(request.transferred, 100U);
  EXPECT_EQ(request.error, 0);
}

TEST(Request, EndOfFileEndsARead) {
  std::byte memory[100];
  Request request = reading(memory, 100, 0);
  ASSERT_TRUE(attempt_done(request, 10));
  ASSERT_FALSE(attempt_done(request, 0));
  EXPECT_EQ(request.transferred, 10U);
  EXPECT_EQ(request.error, 0);
}

TEST(Request, InterruptionsAreRetried) {
  std::byte memory[100];
  Request request = reading(memory, 100, 0);
  EXPECT_TRUE(attempt_done(request, -EINTR));
  EXPECT_TRUE(attempt_done(request, -EAGAIN));
  EXPECT_EQ(attempt_of(request).length, 100U);
  EXPECT_FALSE(attempt_done(request, -EIO));
  EXPECT_EQ(request.error, EIO);
}

TEST(Request, AWriteThatMovesNothingIsAnError) {
  std::byte memory[100];
  Request request = reading(memory, 100, 0);
  request.kind = Kind::write;
  EXPECT_FALSE(attempt_done(request, 0));
  EXPECT_EQ(request.error, EIO);
}

TEST(Request, AttemptsAreBounded) {
  Request request = reading(nullptr, std::uint64_t{5} << 30, 0);
  EXPECT_EQ(attempt_of(request).length, 1U << 30);
}

TEST(Request, VectorsAreCutAtTheLimitOfTheSystem) {
  std::vector<std::byte> memory(3 * IOV_MAX);
  std::vector<iovec> vectors;
  for (std::byte& byte : memory) {
    vectors.push_back({&byte, 1});
  }
  Request request;
  request.kind = Kind::readv;
  request.vectors = vectors.data();
  request.remaining = memory.size();
  plan_attempt(request);
  for (int round = 0; round < 3; ++round) {
    const Attempt attempt = attempt_of(request);
    EXPECT_EQ(attempt.kind, Kind::readv);
    EXPECT_EQ(attempt.length, static_cast<std::uint32_t>(IOV_MAX));
    EXPECT_EQ(attempt.address, vectors.data() + round * IOV_MAX);
    EXPECT_EQ(attempt_done(request, IOV_MAX), round < 2);
  }
  EXPECT_EQ(request.transferred, memory.size());
}

// Whatever the system returns, the bytes of all attempts together are those that were asked for, in order.
TEST(Request, VectorsWithRandomShortTransfersCoverEverythingOnce) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> memory(4000);
    std::vector<iovec> vectors;
    std::vector<std::byte*> expected;
    std::size_t used = 0;
    while (used < memory.size()) {
      const std::size_t length = std::min<std::size_t>(random() % 50, memory.size() - used);
      vectors.push_back({memory.data() + used, length});
      for (std::size_t i = 0; i < length; ++i) {
        expected.push_back(memory.data() + used + i);
      }
      used += length + (random() % 3);
    }
    const std::size_t total = random() % (expected.size() + 1);  // the last vector may be cut
    Request request;
    request.kind = Kind::writev;
    request.vectors = vectors.data();
    request.remaining = total;
    plan_attempt(request);
    std::vector<std::byte*> covered;
    bool again = total > 0;
    while (again) {
      const Attempt attempt = attempt_of(request);
      std::vector<std::byte*> offered;
      if (attempt.kind == Kind::write) {
        for (std::uint32_t i = 0; i < attempt.length; ++i) {
          offered.push_back(static_cast<std::byte*>(attempt.address) + i);
        }
      } else {
        const auto* list = static_cast<const iovec*>(attempt.address);
        for (std::uint32_t v = 0; v < attempt.length; ++v) {
          for (std::size_t i = 0; i < list[v].iov_len; ++i) {
            offered.push_back(static_cast<std::byte*>(list[v].iov_base) + i);
          }
        }
      }
      ASSERT_FALSE(offered.empty());
      const std::size_t moved = 1 + random() % offered.size();
      EXPECT_EQ(attempt.offset, covered.size());
      covered.insert(covered.end(), offered.begin(), offered.begin() + static_cast<std::ptrdiff_t>(moved));
      again = attempt_done(request, static_cast<std::int64_t>(moved));
    }
    ASSERT_EQ(covered.size(), total);
    ASSERT_TRUE(std::equal(covered.begin(), covered.end(), expected.begin()));
  }
}

TEST(BouncePool, KeepsRequestsUntilABufferIsFree) {
  BouncePool& pool = BouncePool::instance();
  std::vector<DirectRequest> holders(BouncePool::most_buffers);
  for (DirectRequest& request : holders) {
    ASSERT_EQ(pool.acquire(request), BouncePool::Answer::given);
  }
  DirectRequest first;
  DirectRequest second;
  EXPECT_EQ(pool.acquire(first), BouncePool::Answer::waiting);
  EXPECT_EQ(pool.acquire(second), BouncePool::Answer::waiting);
  BounceBuffer* const given = holders[0].bounce;
  EXPECT_EQ(pool.release(holders[0]), &first);
  EXPECT_EQ(first.bounce, given);
  EXPECT_EQ(pool.release(first), &second);
  EXPECT_EQ(pool.release(second), nullptr);
  for (std::size_t i = 1; i < holders.size(); ++i) {
    EXPECT_EQ(pool.release(holders[i]), nullptr);
  }
}

}  // namespace
}  // namespace dovetail::storage
