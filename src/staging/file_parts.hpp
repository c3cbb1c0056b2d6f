// Reading a range of a file that is partly in logs and partly in the final file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_range.hpp"
#include "staging/drain.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_place.hpp"
#include "staging/log_segment.hpp"

namespace dovetail::staging {

struct FilePart {
  base::ByteRange range;
  LogPlace place{};
  std::shared_ptr<const LogSegment> segment{};  ///< Null: it is in the final file.
};

struct FileParts {
  std::vector<FilePart> parts;    ///< In their order, one behind the other.
  std::uint64_t final_bytes = 0;  ///< So many of the final file count. What lies behind them reads as zeros.
};

struct FileRead {
  std::size_t bytes = 0;  ///< Fewer than wanted without a failure: the file ends there.
  FileFailure failure{};
};
/// `target`: for all parts. Blocks. From any thread.
FileRead read_parts(FileCalls& calls, const FinalFile& final_file, const FileParts& parts, std::span<std::byte> target);

}  // namespace dovetail::staging
