// Segments of a log as a crash, a faulty device or another program may have left them. Nothing outside of them is touched, records lie in them and
// are whole, and those that count follow each other.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fuzzer.hpp"
#include "source.hpp"
#include "staging/log_replay.hpp"
#include "staging/log_scan.hpp"
#include "staging/staged_contents.hpp"

namespace dovetail::fuzz {
namespace {

using namespace dovetail::staging;

constexpr LogIdentity log = 0x5eed;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void append(std::string& segment, const EncodedHeader& header) {
  segment.append(reinterpret_cast<const char*>(header.data()), header.size());
}

// The checksum of the header is right, most times that of the data as well.
void append_record(std::string& segment, Source& source) {
  RecordHeader header;
  header.kind = static_cast<RecordKind>(source.byte() % 7);
  header.sequence = source.any_number();
  header.durable = source.any_number();
  header.offset = source.any_number();
  const std::string_view data = source.bytes(source.byte());
  header.length = source.byte() % 8 == 1 ? source.any_number() : data.size();
  header.data_checksum = source.byte() % 8 == 1 ? 0 : checksum_of(bytes_of(data), log);
  append(segment, encode(header, log));
  segment += data;
}

std::string some_segment(std::uint32_t number, Source& source) {
  std::string segment;
  const SegmentHeader header{.number = source.byte() % 8 == 1 ? source.byte() : number,
                             .first_sequence = source.any_number()};
  append(segment, encode(header, log));
  for (unsigned records = source.byte() % 16; records > 0 && !source.ended(); --records) {
    if (source.byte() % 8 == 1) {
      segment += source.bytes(source.byte());
    } else {
      append_record(segment, source);
    }
  }
  for (unsigned changes = source.byte() % 3; changes > 0; --changes) {
    segment[source.short_number() % segment.size()] = static_cast<char>(source.byte());
  }
  if (source.byte() % 4 == 1) {
    segment.resize(source.short_number() % (segment.size() + 1));
  }
  return segment;
}

std::shared_ptr<LogSegment> in_memory(std::uint32_t number, const std::string& bytes) {
  base::Descriptor file(::memfd_create("segment", MFD_CLOEXEC));
  require(::pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "there is memory");
  return std::make_shared<LogSegment>(FileCalls::system(), "segment", std::move(file), number, bytes.size());
}

void check(const SegmentScan& scanned, const std::string& bytes) {
  require(scanned.bytes == bytes.size() && scanned.whole_bytes <= scanned.bytes, "no more is whole than there is");
  std::uint64_t end = header_bytes;
  for (const ScannedRecord& each : scanned.records) {
    require(each.position == end + header_bytes, "records lie one behind the other");
    end = each.position + each.header.length;
    require(end <= bytes.size(), "a record lies in its segment");
    const auto data = bytes_of(bytes).subspan(each.position, each.header.length);
    require(data.empty() || checksum_of(data, log) == each.header.data_checksum,
            "the data are those that were written");
  }
  require(scanned.records.empty() || scanned.whole_bytes == end, "all that is whole is a record");
}

void check(const Replay& replayed, const std::vector<FoundSegment>& found) {
  std::uint64_t expected = replayed.drained + 1;
  StagedContents contents(0);
  for (const ReplayedRecord& each : replayed.records) {
    require(each.header.sequence == expected++, "the records that count follow each other");
    if (each.header.kind == RecordKind::truncate) {
      contents.set_size(each.header.offset);
    } else if (each.header.kind == RecordKind::write) {
      contents.write({each.header.offset, static_cast<std::size_t>(each.header.length)},
                     {.segment = each.segment,
                      .position = static_cast<std::uint32_t>(each.position),
                      .length = static_cast<std::uint32_t>(each.header.length),
                      .skipped = 0});
    }
  }
  require(replayed.next_sequence == expected, "the next number is the next one");
  require(static_cast<bool>(replayed.damage) == (replayed.durable >= expected), "what was durable is missed");
  for (const auto& [offset, extent] : contents.index().extents()) {
    require(offset < extent.end && extent.end <= contents.size(), "an extent lies in the file");
    const LogPlace last = extent.place.behind(extent.end - offset - 1);
    require(last.byte_position() < found.at(extent.place.segment - 1).segment->bytes(),
            "an extent lies in its segment");
  }
}

std::string seed_record(char kind, char sequence, char durable, char offset, std::string_view data) {
  std::string text = {2, kind, sequence, durable, offset, static_cast<char>(data.size())};
  return text + std::string(data) + std::string("\0\0", 2);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string begin("\x02\x00\x01\x05", 4);  // segments, number, first sequence, records
  std::string whole = begin + seed_record(1, 1, 0, 10, "abcdefgh") + seed_record(1, 2, 0, 18, "ijklmnop") +
                      seed_record(2, 3, 1, 12, "") + seed_record(4, 4, 3, 0, "") + seed_record(3, 5, 4, 2, "");
  whole += std::string("\0\0", 2);
  whole += std::string("\x00\x06\x02", 3) + seed_record(1, 6, 5, 50, "qrst") + seed_record(1, 7, 5, 54, "uvwx") +
           std::string("\1\0\x80\xff\1\0\xa0", 7);
  const std::string other = begin + seed_record(1, 1, 9, 0, "abc") + seed_record(1, 3, 0, 0, "abc");
  return {"", whole, other, repeated(whole, 4)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  using namespace dovetail::staging;
  fuzz::Source source(fuzz::text_of(data, size));
  std::vector<FoundSegment> found(source.byte() % 4);
  std::uint32_t number = 0;
  for (FoundSegment& each : found) {
    const std::string bytes = fuzz::some_segment(++number, source);
    each.segment = fuzz::in_memory(number, bytes);
    fuzz::require(!scan(FileCalls::system(), *each.segment, fuzz::log, each.scan), "what can be read is no failure");
    fuzz::check(each.scan, bytes);
  }
  fuzz::check(replay(found), found);
  return 0;
}
