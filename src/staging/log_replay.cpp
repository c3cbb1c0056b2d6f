#include "staging/log_replay.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

namespace dovetail::staging {
namespace {

// Where the record that is missing should be: behind the last that is whole, of the first segment that is torn or leads on.
FileFailure missing(const std::vector<FoundSegment>& segments, const Replay& replayed) {
  FileFailure failure{.error = EBADMSG, .operation = "recover", .path = {}, .offset = 0, .why = {}};
  failure.why = "the record with number " + std::to_string(replayed.next_sequence) +
                " is missing or was changed, and those up to " + std::to_string(replayed.durable) + " were durable";
  const auto torn = std::ranges::find_if(segments, [&](const FoundSegment& each) {
    const auto& records = each.scan.records;
    return each.scan.is_torn() && (records.empty() || records.back().header.sequence + 1 >= replayed.next_sequence);
  });
  if (torn != segments.end()) {
    failure.path = torn->segment->path();
    failure.offset = torn->scan.whole_bytes;
  } else if (!segments.empty()) {
    failure.path = segments.front().segment->path();
  }
  return failure;
}

// `void_from`: such numbers and higher ones were given again later, to records of another segment.
void take(const FoundSegment& found, std::uint64_t void_from, Replay& result) {
  for (const ScannedRecord& record : found.scan.records) {
    const std::uint64_t sequence = record.header.sequence;
    if (sequence > result.next_sequence || sequence >= void_from) {
      return;
    }
    if (sequence == result.next_sequence) {
      result.records.push_back({record.header, found.segment->number(), record.position});
      ++result.next_sequence;
    }
  }
}

// A segment that is begun says which number comes next. An earlier one may have records with that number or higher ones: they came after one
// that was lost, and an opening of the log has left them out.
std::vector<std::uint64_t> void_numbers(const std::vector<FoundSegment>& segments) {
  std::vector<std::uint64_t> from(segments.size());
  std::uint64_t lowest = UINT64_MAX;
  for (std::size_t i = segments.size(); i-- > 0;) {
    from[i] = lowest;
    if (segments[i].scan.header) {
      lowest = std::min(lowest, segments[i].scan.header->first_sequence);
    }
  }
  return from;
}

}  // namespace

Replay replay(const std::vector<FoundSegment>& segments) {
  Replay result;
  const std::vector<std::uint64_t> void_from = void_numbers(segments);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentScan& scan = segments[i].scan;
    result.drained = std::max(result.drained, scan.drained);
    if (scan.has_note) {
      result.draining_from.reset();
    }
    if (scan.draining_from) {
      result.draining_from = std::min(*scan.draining_from, result.draining_from.value_or(*scan.draining_from));
    }
    // Numbers that were given again later are those of other records, of which it says nothing.
    result.durable = std::max(result.durable, std::min(scan.durable, std::max<std::uint64_t>(void_from[i], 1) - 1));
  }
  result.durable = std::max(result.durable, result.drained);
  result.next_sequence = result.drained + 1;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    take(segments[i], void_from[i], result);
  }
  if (result.durable >= result.next_sequence) {
    result.damage = missing(segments, result);
  }
  return result;
}

}  // namespace dovetail::staging
