#include "read_ahead.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace dovetail::hdf5 {
namespace {

// Reads that are further apart in time than this belong to different steps.
constexpr std::uint64_t pause = 1'000'000;
// HDF5's own data between that of two datasets.
constexpr std::uint64_t largest_gap = std::uint64_t{1} << 20;
constexpr unsigned hits_that_show_a_pattern = 2;
constexpr std::size_t smallest_block = std::size_t{128} << 10;
constexpr std::size_t most_blocks = 512;

bool equal(const timespec& one, const timespec& other) noexcept {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

FileVersion FileVersion::of(int descriptor) noexcept {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return {};
  }
  return {status.st_mtim, status.st_ctim, status.st_size};
}

bool FileVersion::operator==(const FileVersion& other) const noexcept {
  return equal(modified, other.modified) && equal(changed, other.changed) && size == other.size;
}

// Kernels take the time of a change from a clock that ticks every 10 ms or faster; some file systems keep whole or even seconds.
std::uint64_t FileVersion::granularity() const noexcept {
  constexpr std::uint64_t of_kernels = 20'000'000;
  constexpr std::uint64_t of_seconds = 2'000'000'000;
  return modified.tv_nsec != 0 || changed.tv_nsec != 0 ? of_kernels : of_seconds;
}

// Whether it is the known one. If not, nothing that was fetched is good any more.
bool ReadAhead::note_version(const FileVersion& version) noexcept {
  if (version == version_) {
    return true;
  }
  version_ = version;
  version_since_ = now();
  forget({0, SIZE_MAX});
  return false;
}

std::size_t ReadAhead::serve(Lock& lock, const FileVersion& version, Range range, std::byte* target) {
  Background& background = Background::instance();
  if (!note_version(version)) {
    return 0;
  }
  std::size_t copied = 0;
  while (copied < range.length && !blocks_.empty()) {
    const std::uint64_t at = range.offset + copied;
    auto found = blocks_.upper_bound(at);
    if (found == blocks_.begin()) {
      break;
    }
    --found;
    const std::shared_ptr<Block> block = found->second;
    const std::uint64_t begin = found->first;
    if (begin + block->length <= at) {
      break;
    }
    background.wait(lock, Cause::read, [&] { return block->ready; });
    if (block->failed || block->unwanted) {
      break;
    }
    const auto skipped = static_cast<std::size_t>(at - begin);
    const std::size_t bytes = std::min(block->length - skipped, range.length - copied);
    std::memcpy(target + copied, block->buffer.data + skipped, bytes);
    copied += bytes;
  }
  background.report.bytes_read_ahead += copied;
  return copied;
}

// The stream that the range continues, or a new one in place of that which has not been used for longest.
std::size_t ReadAhead::find(Range range) {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    const bool near = stream.length != 0 && range.offset >= stream.end && range.offset - stream.end <= largest_gap;
    const bool regular =
        stream.length == range.length && stream.stride != 0 && range.offset == stream.last + stream.stride;
    const bool second = stream.length == range.length && stream.hits == 0 && range.offset > stream.end;
    if (near || regular || second) {
      stream.hits = near || regular || second ? stream.hits + 1 : 0;
      const std::uint64_t stride = range.offset - stream.last;
      stream.stride = near ? 0 : stride;
      return i;
    }
    if (stream.used < streams_[oldest].used) {
      oldest = i;
    }
  }
  drop_behind(oldest, UINT64_MAX);
  streams_[oldest] = Stream{};
  return oldest;
}

// Notes a read. Whether those of this step are over, as far as one can tell: its own reads would have to wait behind those for the next.
bool ReadAhead::step_is_over(Range range, std::uint64_t begun) {
  if (!allowed_ || range.length == 0) {
    return false;
  }
  if (last_time_ != 0 && begun > last_time_ + pause) {
    last_burst_ = std::exchange(burst_, 0);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].last_burst = std::exchange(streams_[i].burst, 0);
      // Only now: HDF5's own data of a step lies in front of the program's, and is read in turn with it.
      drop_behind(i, streams_[i].end);
    }
  }
  last_time_ = now();
  const std::size_t chosen = find(range);
  Stream& stream = streams_[chosen];
  burst_ += range.length;
  stream.burst += range.length;
  stream.last = range.offset;
  stream.end = range.offset + range.length;
  stream.length = range.length;
  stream.used = ++reads_;
  return last_burst_ != 0 && burst_ >= last_burst_ - last_burst_ / 8;
}

void ReadAhead::follow(Range range, std::uint64_t size, std::uint64_t begun) {
  {
    const Lock lock(Background::instance().mutex);
    if (!step_is_over(range, begun)) {
      return;
    }
  }
  const FileVersion version = FileVersion::of(descriptor_);
  std::vector<std::pair<std::size_t, Range>> wanted;
  {
    const Lock lock(Background::instance().mutex);
    // A change that is so recent that the next one might have its time could not be seen.
    if (!note_version(version) || now() - version_since_ < version.granularity()) {
      return;
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      plan(i, size, wanted);
    }
  }
  for (const auto& [stream, next] : wanted) {
    if (!fetch(stream, next)) {
      return;
    }
  }
}

// As much of the stream as the step before this one had.
void ReadAhead::plan(std::size_t index, std::uint64_t size, std::vector<std::pair<std::size_t, Range>>& wanted) const {
  const Stream& stream = streams_[index];
  if (stream.hits < hits_that_show_a_pattern || stream.last_burst == 0 || stream.burst == 0) {
    return;
  }
  const std::uint64_t most =
      std::min<std::uint64_t>(std::max(stream.burst, stream.last_burst), Background::instance().pool.limit() / 2);
  if (stream.stride == 0) {
    // A little more than the step had, for what lies between; in blocks that leave little of it out.
    const std::size_t largest =
        std::clamp<std::size_t>(static_cast<std::size_t>(most / 16), smallest_block, BufferPool::largest);
    const std::uint64_t end = std::min(stream.end + most + largest, size);
    for (std::uint64_t at = std::max(stream.fetched_to, stream.end); at < end;) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(largest, end - at));
      // Whole blocks only, save at the end: many short ones would be many short reads.
      if (length < largest && end != size && at != stream.end) {
        break;
      }
      wanted.push_back({index, {at, length}});
      at += length;
    }
    return;
  }
  if (stream.length > BufferPool::largest) {
    return;
  }
  // Every read of the rest of the step comes here: what has been fetched is not gone through again.
  const std::uint64_t first =
      stream.fetched_to > stream.last ? (stream.fetched_to - stream.last + stream.stride - 1) / stream.stride : 1;
  for (std::uint64_t step = first; step * stream.length <= most && wanted.size() < most_blocks; ++step) {
    const std::uint64_t at = stream.last + step * stream.stride;
    if (at + stream.length > size) {
      break;
    }
    wanted.push_back({index, {at, stream.length}});
  }
}

bool ReadAhead::fetch(std::size_t stream, Range range) {
  Background& background = Background::instance();
  auto block = std::make_shared<Block>();
  {
    const Lock lock(background.mutex);
    const auto behind = blocks_.lower_bound(range.offset);
    const bool overlaps =
        (behind != blocks_.end() && behind->first < range.offset + range.length) ||
        (behind != blocks_.begin() && std::prev(behind)->first + std::prev(behind)->second->length > range.offset);
    if (overlaps || blocks_.size() >= most_blocks) {
      return false;
    }
    block->buffer = background.pool.take_ahead(range.length);
    if (block->buffer.data == nullptr) {
      return false;
    }
    block->length = range.length;
    block->stream = stream;
    blocks_.emplace(range.offset, block);
    streams_[stream].fetched_to = range.offset + range.length;
    ++fetching_;
  }
  if (!background.spawn("HDF5: reading ahead", [this, offset = range.offset, block] { fetch_now(offset, block); })) {
    const Lock lock(background.mutex);
    --fetching_;
    block->ready = true;
    drop(blocks_.find(range.offset));
    return false;
  }
  return true;
}

void ReadAhead::fetch_now(std::uint64_t offset, const std::shared_ptr<Block>& block) {
  Background& background = Background::instance();
  bool wanted = false;
  {
    const Lock lock(background.mutex);
    wanted = !block->unwanted;
  }
  const std::uint64_t begin = now();
  std::size_t done = 0;
  while (wanted && done < block->length) {
    const ssize_t got =
        ::pread(descriptor_, block->buffer.data + done, block->length - done, static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  const Lock lock(background.mutex);
  block->ready = true;
  block->failed = done < block->length;
  if (wanted) {
    background.report.transfer_time += now() - begin;
    background.report.bytes_fetched += done;
  }
  if (block->unwanted) {
    background.pool.give_back_ahead(block->buffer);
  }
  --fetching_;
  background.announce();
}

void ReadAhead::drop(Blocks::iterator block) noexcept {
  if (block == blocks_.end()) {
    return;
  }
  if (block->second->ready) {
    Background::instance().pool.give_back_ahead(block->second->buffer);
  }
  block->second->unwanted = true;  // its task gives the buffer back if it has not come yet
  blocks_.erase(block);
}

void ReadAhead::drop_behind(std::size_t stream, std::uint64_t offset) noexcept {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto block = at++;
    if (block->second->stream == stream && block->first + block->second->length <= offset) {
      drop(block);
    }
  }
}

void ReadAhead::forget(Range range) noexcept {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto block = at++;
    if (range.overlaps({block->first, block->second->length})) {
      drop(block);
    }
  }
}

void ReadAhead::stop() noexcept {
  allowed_ = false;
  forget({0, SIZE_MAX});
}

}  // namespace dovetail::hdf5
