#include "staging/file_parts.hpp"

#include <algorithm>
#include <cstring>

namespace dovetail::staging {
namespace {

FileFailure read_final(FileCalls& calls, const FinalFile& file, base::ByteRange range, std::uint64_t final_bytes,
                       std::byte* target) {
  const std::uint64_t end = std::clamp(final_bytes, range.offset, range.end());
  const auto wanted = static_cast<std::size_t>(end - range.offset);
  const Transfer got = read_all(calls, file.descriptor, {target, wanted}, range.offset);
  if (got.error != 0) {
    return {.error = got.error, .operation = "read", .path = file.path, .offset = range.offset + got.bytes};
  }
  std::memset(target + got.bytes, 0, range.length - got.bytes);
  return {};
}

}  // namespace

FileRead read_parts(FileCalls& calls, const FinalFile& final_file, const FileParts& parts,
                    std::span<std::byte> target) {
  FileRead result;
  for (const FilePart& part : parts.parts) {
    std::byte* const to = target.data() + result.bytes;
    result.failure = part.segment != nullptr ? part.segment->read(part.place, {to, part.range.length})
                                             : read_final(calls, final_file, part.range, parts.final_bytes, to);
    if (result.failure) {
      break;
    }
    result.bytes += part.range.length;
  }
  return result;
}

}  // namespace dovetail::staging
