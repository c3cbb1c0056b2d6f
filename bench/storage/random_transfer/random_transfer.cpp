#include "random_transfer/random_transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

constexpr std::size_t sector = 4096;

void number_sectors(std::byte* memory, std::size_t bytes, std::uint64_t offset) noexcept {
  for (std::size_t at = 0; at < bytes; at += sector) {
    const std::uint64_t number = (offset + at) / sector;
    std::memcpy(memory + at, &number, sizeof number);
  }
}

}  // namespace

void RandomTransfer::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

RandomTransfer::RandomTransfer(CommandLine& line)
    : line_(line),
      block_(line.size("block", 4096, "bytes of a transfer, a multiple of 4096")),
      depth_(line.size("depth", 16, "transfers under way at any time")),
      milliseconds_(line.size("milliseconds", 1000, "how long it is measured")),
      megabytes_(line.size("megabytes", 512, "size of the file")),
      operation_(line.choice("operation", {"read", "write"}, "which way")) {}

void RandomTransfer::prepare() {
  if (block_ % static_cast<std::int64_t>(sector) != 0) {
    std::fprintf(stderr, "--block %lld: it must be a multiple of %zu\n", static_cast<long long>(block_), sector);
    std::exit(2);
  }
  path_ = folder_for_files() + "/dovetail-bench-" + std::to_string(megabytes_) + "M.data";
  struct stat status{};
  if (stat(path_.c_str(), &status) != 0 || status.st_size != file_bytes()) {
    const int descriptor = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (descriptor < 0) die(path_);
    std::vector<std::byte> piece(1 << 20);
    for (std::int64_t at = 0; at < file_bytes(); at += static_cast<std::int64_t>(piece.size())) {
      number_sectors(piece.data(), piece.size(), static_cast<std::uint64_t>(at));
      if (pwrite(descriptor, piece.data(), piece.size(), at) != static_cast<ssize_t>(piece.size())) die(path_);
    }
    if (fsync(descriptor) != 0 || close(descriptor) != 0) die(path_);
  }
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(sector, depth() * block())));
  std::memset(memory_.get(), 0, depth() * block());
}

void RandomTransfer::begin() {
  chains_.resize(depth());
  for (std::size_t i = 0; i < depth(); ++i) {
    chains_[i].random = 88172645463325252U + i * 0x9e3779b97f4a7c15U;
    chains_[i].buffer = memory_.get() + i * block();
    chains_[i].latencies.clear();
    chains_[i].latencies.reserve(1 << 16);
    chains_[i].wrong = 0;
  }
  begun_ = wall_nanoseconds();
  cpu_begun_ = cpu_nanoseconds();
  machine_begun_ = machine_busy_nanoseconds();
  end_ = begun_ + milliseconds_ * 1'000'000;
}

bool RandomTransfer::next(Chain& chain) noexcept {
  chain.started = wall_nanoseconds();
  if (chain.started >= end_) return false;
  chain.random ^= chain.random << 13;
  chain.random ^= chain.random >> 7;
  chain.random ^= chain.random << 17;
  chain.offset = chain.random % (static_cast<std::uint64_t>(file_bytes()) / block()) * block();
  if (writes()) {
    number_sectors(chain.buffer, block(), chain.offset);
  } else {
    std::memset(chain.buffer, 0xff, sizeof(std::uint64_t));
  }
  return true;
}

void RandomTransfer::ended(Chain& chain, std::int64_t result) noexcept {
  chain.latencies.push_back(static_cast<std::uint32_t>((wall_nanoseconds() - chain.started) / 100));
  std::uint64_t number = 0;
  std::memcpy(&number, chain.buffer, sizeof number);
  if (result != static_cast<std::int64_t>(block()) || number != chain.offset / sector) ++chain.wrong;
}

void RandomTransfer::report(Report& report) {
  const std::int64_t wall = wall_nanoseconds() - begun_;
  const std::int64_t cpu = cpu_nanoseconds() - cpu_begun_;
  const std::int64_t machine = machine_busy_nanoseconds() - machine_begun_;
  std::vector<std::uint32_t> all;
  std::uint64_t wrong = 0;
  for (const Chain& chain : chains_) {
    all.insert(all.end(), chain.latencies.begin(), chain.latencies.end());
    wrong += chain.wrong;
  }
  if (wrong != 0) report.wrong(std::to_string(wrong) + " transfers moved the wrong bytes");
  if (all.empty()) {
    report.wrong("no transfer has ended");
    return;
  }
  const auto count = static_cast<double>(all.size());
  const auto place = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 99 / 100);
  std::nth_element(all.begin(), place, all.end());
  report.add("iops", count * 1e9 / static_cast<double>(wall));
  report.add("ns", static_cast<double>(wall) / count);
  report.add("cpu_us", static_cast<double>(cpu) / count / 1000);
  report.add("machine_us", static_cast<double>(machine) / count / 1000);
  report.add("p99_us", *place / 10.0);
}

}  // namespace bench
