#include "staging/log_scan.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace dovetail::staging {
namespace {

// Many small records are read by one call.
constexpr std::size_t least_read = std::size_t{1} << 20;

// A part of the file, in memory.
class Window {
 public:
  Window(FileCalls& calls, const LogSegment& segment) : calls_(calls), segment_(segment) {}

  std::uint64_t bytes() const noexcept { return segment_.bytes(); }
  // Fewer bytes: the file ends, or cannot be read (`failure`).
  std::span<const std::byte> at(std::uint64_t position, std::size_t wanted) {
    if (position < begin_ || position + wanted > begin_ + held_) {
      fill(position, wanted);
    }
    const std::size_t skipped = static_cast<std::size_t>(position - begin_);
    return std::span(memory_).subspan(skipped, std::min(wanted, held_ - skipped));
  }
  // All that is held from there on, after at least so much has been read, if there is as much.
  std::span<const std::byte> held_at(std::uint64_t position, std::size_t least) {
    const std::span<const std::byte> bytes = at(position, least);
    return bytes.empty() ? bytes : std::span(bytes.data(), held_ - static_cast<std::size_t>(position - begin_));
  }
  FileFailure failure;

 private:
  void fill(std::uint64_t position, std::size_t wanted) {
    const std::uint64_t left = bytes() - std::min(bytes(), position);
    const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(wanted, least_read)));
    memory_.resize(std::max(memory_.size(), most));
    const Transfer got = read_all(calls_, segment_.descriptor(), std::span(memory_).first(most), position);
    begin_ = position;
    held_ = got.bytes;
    if (got.error != 0 && !failure) {
      failure = {.error = got.error, .operation = "read", .path = segment_.path(), .offset = position + got.bytes};
    }
  }

  FileCalls& calls_;
  const LogSegment& segment_;
  std::vector<std::byte> memory_;
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
};

std::optional<RecordHeader> header_at(Window& window, std::uint64_t position, LogIdentity log) {
  const std::span<const std::byte> bytes = window.at(position, header_bytes);
  return bytes.size() == header_bytes ? decode_record(bytes.first<header_bytes>(), log) : std::nullopt;
}

bool has_data(Window& window, std::uint64_t position, const RecordHeader& header, LogIdentity log) {
  // Before memory is taken for it.
  if (header.length > window.bytes() - position) {
    return false;
  }
  const std::span<const std::byte> data = window.at(position, static_cast<std::size_t>(header.length));
  return data.size() == header.length && (data.empty() || checksum_of(data, log) == header.data_checksum);
}

void note_claims(const RecordHeader& header, SegmentScan& result) {
  result.durable = std::max(result.durable, header.durable);
  if (header.kind == RecordKind::drained) {
    result.drained = std::max(result.drained, header.offset);
    result.has_note = true;
    result.draining_from.reset();
  } else if (header.kind == RecordKind::draining) {
    result.draining_from = std::min(header.offset, result.draining_from.value_or(header.offset));
  }
}

// Records behind a torn one are not believed. What their headers say of others is: it was so when they were written. So it is known
// whether something is missing that must not be.
void search_claims(Window& window, std::uint64_t from, LogIdentity log, SegmentScan& result) {
  const auto magic = record_magic();
  while (from + header_bytes <= window.bytes()) {
    const std::span<const std::byte> bytes = window.held_at(from, header_bytes);
    if (bytes.size() < header_bytes) {
      return;
    }
    const void* const found = ::memmem(bytes.data(), bytes.size(), magic.data(), magic.size());
    if (found == nullptr) {
      from += bytes.size() - (magic.size() - 1);
      continue;
    }
    from += static_cast<std::uint64_t>(static_cast<const std::byte*>(found) - bytes.data());
    if (const auto header = header_at(window, from, log)) {
      note_claims(*header, result);
    }
    ++from;
  }
}

}  // namespace

FileFailure scan(FileCalls& calls, const LogSegment& segment, LogIdentity log, SegmentScan& result) {
  Window window(calls, segment);
  result.bytes = segment.bytes();
  const std::span<const std::byte> first = window.at(0, header_bytes);
  if (first.size() == header_bytes) {
    result.header = decode_segment(first.first<header_bytes>(), log);
  }
  if (result.header && result.header->number == segment.number()) {
    result.whole_bytes = header_bytes;
    while (const auto header = header_at(window, result.whole_bytes, log)) {
      const std::uint64_t position = result.whole_bytes + header_bytes;
      // No place in the index is further behind, and no segment is made so large.
      if (position + header->length > UINT32_MAX || !has_data(window, position, *header, log)) {
        break;
      }
      result.records.push_back({*header, position});
      note_claims(*header, result);
      result.whole_bytes = position + header->length;
    }
  } else {
    result.header.reset();
  }
  search_claims(window, result.whole_bytes, log, result);
  return std::move(window.failure);
}

}  // namespace dovetail::staging
