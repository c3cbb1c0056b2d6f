// Headers in the log: what was written is read, and nothing else is taken for a header.
// One thread.
#include "staging/log_record.hpp"

#include <gtest/gtest.h>

#include <random>

#include "device/support.hpp"

namespace dovetail::staging {
namespace {

constexpr LogIdentity log = 0x1234'5678'9abc'def0;

RecordHeader some_record() {
  return {.kind = RecordKind::write,
          .sequence = 7,
          .durable = 5,
          .offset = 1'000'000'007,
          .length = 4096,
          .data_checksum = 0xfeed};
}

EncodedHeader with_bit(EncodedHeader bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  return bytes;
}

TEST(LogRecordTest, AHeaderIsReadAsItWasWritten) {
  EXPECT_EQ(decode_record(encode(some_record(), log), log), some_record());
  for (const RecordKind kind : {RecordKind::truncate, RecordKind::drained, RecordKind::synced, RecordKind::draining}) {
    RecordHeader header = some_record();
    header.kind = kind;
    header.length = 0;
    EXPECT_EQ(decode_record(encode(header, log), log), header);
  }
  const SegmentHeader segment{.number = 3, .first_sequence = 99};
  EXPECT_EQ(decode_segment(encode(segment, log), log), segment);
}

TEST(LogRecordTest, EachChangedBitIsNoticed) {
  const EncodedHeader record = encode(some_record(), log);
  const EncodedHeader segment = encode(SegmentHeader{.number = 3, .first_sequence = 99}, log);
  for (std::size_t bit = 0; bit < header_bytes * 8; ++bit) {
    EXPECT_FALSE(decode_record(with_bit(record, bit), log)) << "bit " << bit;
    EXPECT_FALSE(decode_segment(with_bit(segment, bit), log)) << "bit " << bit;
  }
}

TEST(LogRecordTest, AHeaderOfAnotherLogOrKindIsNone) {
  EXPECT_FALSE(decode_record(encode(some_record(), log), log + 1));
  EXPECT_FALSE(decode_segment(encode(SegmentHeader{.number = 3, .first_sequence = 99}, log), log + 1));
  EXPECT_FALSE(decode_segment(encode(some_record(), log), log));
  EXPECT_FALSE(decode_record(encode(SegmentHeader{.number = 3, .first_sequence = 99}, log), log));
}

// As a faulty writer, or a newer one, may have written it: its checksum is right.
TEST(LogRecordTest, NumbersOutOfBoundsAreRefused) {
  const auto refused = [](auto change) {
    RecordHeader header = some_record();
    change(header);
    return !decode_record(encode(header, log), log);
  };
  EXPECT_TRUE(refused([](RecordHeader& header) { header.kind = static_cast<RecordKind>(0); }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.kind = static_cast<RecordKind>(6); }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.sequence = 0; }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.sequence = UINT64_MAX; }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.length = 0; }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.length = most_record_bytes + 1; }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.kind = RecordKind::truncate; }));
  EXPECT_TRUE(refused([](RecordHeader& header) { header.offset = most_file_bytes - header.length + 1; }));
  EXPECT_FALSE(refused([](RecordHeader& header) { header.offset = most_file_bytes - header.length; }));
}

TEST(LogRecordTest, TheChecksumOfDataDependsOnTheLog) {
  const std::array<std::byte, 3> data = {std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_NE(checksum_of(data, log), checksum_of(data, log + 1));
  EXPECT_NE(checksum_of(data, log), checksum_of(std::span(data).first(2), log));
}

}  // namespace
}  // namespace dovetail::staging
