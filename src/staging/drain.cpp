#include "staging/drain.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "staging/drain_pace.hpp"

namespace dovetail::staging {
namespace {

// Where the rate has a limit, a request takes about a tenth of a second.
std::size_t most_of_request(const DrainShape& shape) noexcept {
  constexpr std::uint64_t each_second = 10;
  const std::uint64_t of_rate = shape.bytes_per_second / each_second;
  return shape.bytes_per_second == 0 ? shape.request_bytes : std::min<std::uint64_t>(shape.request_bytes, of_rate);
}

std::size_t whole_stripes(std::size_t stripe, std::size_t bytes) noexcept {
  return std::max(stripe, bytes - bytes % stripe);
}

// One request to the final file: consecutive bytes of one or several pieces.
class DrainWrite {
 public:
  // `most`: no more bytes than these are drained, so that a small file does not cost the memory of a large request.
  DrainWrite(FileCalls& calls, const FinalFile& file, const DrainShape& shape, std::uint64_t most)
      : calls_(calls),
        file_(file),
        rate_(shape.bytes_per_second),
        bytes_(whole_stripes(shape.stripe_bytes, most_of_request(shape))) {
    memory_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes_, most)));
  }

  // How many of the bytes from `offset` on belong to the request that holds the first of them.
  std::size_t room(std::uint64_t offset) const noexcept { return bytes_ - static_cast<std::size_t>(offset % bytes_); }
  bool is_continued_at(std::uint64_t offset) const noexcept {
    return held_ != 0 && offset == begin_ + held_ && offset % bytes_ != 0;
  }
  std::span<std::byte> add(std::uint64_t offset, std::size_t bytes) noexcept {
    begin_ = held_ == 0 ? offset : begin_;
    held_ += bytes;
    return std::span(memory_).subspan(held_ - bytes, bytes);
  }
  FileFailure write() {
    if (rate_ != 0 && held_ != 0) {
      calls_.wait_until(DrainPace::of_process().turn(calls_.now(), held_, rate_));
    }
    std::array parts = {iovec{memory_.data(), held_}};
    const Transfer done = write_all(calls_, file_.descriptor, parts, begin_);
    held_ = 0;
    if (done.error != 0) {
      return {.error = done.error, .operation = "write", .path = file_.path, .offset = begin_ + done.bytes};
    }
    if (done.bytes == 0) {
      return {};
    }
    // The device works while the next request is copied, rather than from the sync on. It has at most two: more would only keep it from the program's own.
    calls_.begin_writeback(file_.descriptor, begin_, done.bytes);
    calls_.reached(CrashPoint::piece_written);
    const base::ByteRange before = std::exchange(under_way_, {begin_, done.bytes});
    const auto wait = [&] { return calls_.wait_for_writeback(file_.descriptor, before.offset, before.length); };
    const int result = before.length == 0 ? 0 : uninterrupted(wait);
    return result == 0
               ? FileFailure{}
               : FileFailure{.error = -result, .operation = "write", .path = file_.path, .offset = before.offset};
  }

 private:
  FileCalls& calls_;
  const FinalFile& file_;
  const std::uint64_t rate_;  // bytes in a second; 0: no limit
  const std::size_t bytes_;
  base::ByteRange under_way_{};  // the device has been given it
  std::vector<std::byte> memory_;
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
};

FileFailure write_piece(const DrainPlan::Piece& piece, const LogSegment& segment, DrainWrite& request) {
  base::ByteRange range = piece.range;
  LogPlace place = piece.place;
  while (range.length != 0) {
    if (!request.is_continued_at(range.offset)) {
      if (FileFailure failure = request.write()) {
        return failure;
      }
    }
    const std::size_t bytes = std::min(range.length, request.room(range.offset));
    if (FileFailure failure = segment.read(place, request.add(range.offset, bytes))) {
      return failure;
    }
    place = place.behind(bytes);
    range = {range.offset + bytes, range.length - bytes};
  }
  return {};
}

std::uint64_t bytes_of(const DrainPlan& plan) {
  std::uint64_t sum = 0;
  for (const DrainPlan::Piece& piece : plan.pieces) {
    sum += piece.range.length;
  }
  return sum;
}

FileFailure write_pieces(const DrainPlan& plan, const StagingLog::Segments& segments, DrainWrite& request) {
  for (const DrainPlan::Piece& piece : plan.pieces) {
    const auto segment = segments.find(piece.place.segment);
    if (segment == segments.end()) {
      return {.error = EBADMSG, .operation = "find", .path = segment_name(piece.place.segment), .why = "it is gone"};
    }
    if (FileFailure failure = write_piece(piece, *segment->second, request)) {
      return failure;
    }
  }
  return request.write();
}

FileFailure resize(FileCalls& calls, const FinalFile& file, std::uint64_t bytes, CrashPoint point) {
  if (const int result = uninterrupted([&] { return calls.resize(file.descriptor, bytes); }); result != 0) {
    return {.error = -result, .operation = "set the size", .path = file.path, .offset = bytes};
  }
  calls.reached(point);
  return {};
}

FileFailure size_of(const FinalFile& file, std::uint64_t& size) {
  struct stat status{};
  if (::fstat(file.descriptor, &status) != 0) {
    return {.error = errno, .operation = "look at", .path = file.path};
  }
  size = static_cast<std::uint64_t>(status.st_size);
  return {};
}

// Otherwise a file that was just made could be lost with its name, and the log is already gone.
FileFailure make_name_durable(FileCalls& calls, const FinalFile& file) {
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  const base::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = opened.get() < 0 ? errno : make_durable(calls, opened.get(), false);
  // Some file systems have no such call for folders, and some folders may be searched but not read.
  return error == 0 || error == EINVAL || error == EACCES
             ? FileFailure{}
             : FileFailure{.error = error, .operation = "fsync", .path = folder};
}

}  // namespace

FileFailure make_final_durable(FileCalls& calls, const FinalFile& file) {
  if (const int error = make_durable(calls, file.descriptor, false)) {
    return {.error = error, .operation = "fsync", .path = file.path};
  }
  return make_name_durable(calls, file);
}

FileFailure cut_final(FileCalls& calls, const FinalFile& file, std::uint64_t bytes) {
  std::uint64_t size = 0;
  FileFailure failure = size_of(file, size);
  if (!failure && size > bytes) {
    failure = resize(calls, file, bytes, CrashPoint::final_cut);
  }
  return failure ? failure : make_final_durable(calls, file);
}

DrainPlan plan_drain(const StagedContents& contents) {
  DrainPlan plan;
  plan.size = contents.size();
  plan.pieces.reserve(contents.index().extents().size());
  for (const auto& [offset, extent] : contents.index().extents()) {
    plan.pieces.push_back({{offset, static_cast<std::size_t>(extent.end - offset)}, extent.place});
  }
  return plan;
}

FileFailure drain_into(FileCalls& calls, const FinalFile& file, const DrainPlan& plan,
                       const StagingLog::Segments& segments, const DrainShape& shape) {
  std::uint64_t size = 0;
  FileFailure failure = size_of(file, size);
  if (!failure && size > plan.kept) {
    failure = resize(calls, file, plan.kept, CrashPoint::final_cut);
  }
  if (failure) {
    return failure;
  }
  DrainWrite request(calls, file, shape, bytes_of(plan));
  failure = write_pieces(plan, segments, request);
  if (!failure) {
    failure = size_of(file, size);
  }
  if (!failure && size < plan.size) {
    failure = resize(calls, file, plan.size, CrashPoint::final_grown);
  }
  if (!failure) {
    failure = make_final_durable(calls, file);
  }
  if (!failure) {
    calls.reached(CrashPoint::final_synced);
  }
  return failure;
}

}  // namespace dovetail::staging
