#include "staging/log_segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

namespace dovetail::staging {
namespace {

iovec part_of(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

LogSegment::Opened LogSegment::create(FileCalls& calls, const LogFolder& folder, const SegmentHeader& header,
                                      LogIdentity log) {
  const std::string name = segment_name(header.number);
  std::string path = folder.path + "/" + name;
  const int descriptor = calls.open(folder.descriptor.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL);
  if (descriptor < 0) {
    return {nullptr, {.error = -descriptor, .operation = "make", .path = std::move(path)}};
  }
  calls.reached(CrashPoint::segment_made);
  auto segment = std::make_shared<LogSegment>(calls, std::move(path), base::Descriptor(descriptor), header.number, 0);
  FileFailure failure = segment->append(encode(header, log), {});
  if (failure) {
    calls.remove(folder.descriptor.get(), name.c_str());
    return {nullptr, std::move(failure)};
  }
  calls.reached(CrashPoint::segment_begun);
  return {std::move(segment), {}};
}

LogSegment::Opened LogSegment::open(FileCalls& calls, const LogFolder& folder, std::uint32_t number) {
  const std::string name = segment_name(number);
  std::string path = folder.path + "/" + name;
  base::Descriptor descriptor(calls.open(folder.descriptor.get(), name.c_str(), O_RDONLY | O_NONBLOCK));
  if (descriptor.get() < 0) {
    return {nullptr, {.error = -descriptor.get(), .operation = "open", .path = std::move(path)}};
  }
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) {
    return {nullptr, {.error = errno, .operation = "look at", .path = std::move(path)}};
  }
  if (!S_ISREG(status.st_mode)) {
    return {nullptr,
            {.error = EBADMSG, .operation = "open", .path = std::move(path), .why = "it is not a regular file"}};
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return {std::make_shared<LogSegment>(calls, std::move(path), std::move(descriptor), number, bytes), {}};
}

FileFailure LogSegment::append(const EncodedHeader& header, std::span<const std::byte> data) {
  std::array parts = {part_of(header), part_of(data)};
  const Transfer done = write_all(calls_, descriptor(), parts, bytes_);
  if (done.error == 0) {
    bytes_ += header.size() + data.size();
    return {};
  }
  // Otherwise the reader would stop there, and not see what is appended later.
  whole_ = done.bytes == 0 || calls_.resize(descriptor(), bytes_) == 0;
  return {.error = done.error, .operation = "write", .path = path_, .offset = bytes_ + done.bytes};
}

FileFailure LogSegment::read(std::uint64_t position, std::span<std::byte> target) const {
  const Transfer done = read_all(calls_, descriptor(), target, position);
  if (done.error == 0 && done.bytes == target.size()) {
    return {};
  }
  const bool ends = done.error == 0;
  return {.error = ends ? EBADMSG : done.error,
          .operation = "read",
          .path = path_,
          .offset = position + done.bytes,
          .why = ends ? "the file is shorter than it was" : ""};
}

FileFailure LogSegment::read(LogPlace place, std::span<std::byte> target) const {
  while (!target.empty()) {
    const auto bytes = static_cast<std::size_t>(place.together(target.size()));
    if (FileFailure failure = read(place.byte_position(), target.first(bytes))) {
      return failure;
    }
    target = target.subspan(bytes);
    place = place.behind(bytes);
  }
  return {};
}

FileFailure LogSegment::sync() const {
  const int error = make_durable(calls_, descriptor(), true);
  return error == 0 ? FileFailure{} : FileFailure{.error = error, .operation = "fdatasync", .path = path_};
}

}  // namespace dovetail::staging
