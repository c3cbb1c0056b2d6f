#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibration.hpp"
#include "descriptor.hpp"
#include "run.hpp"
#include "test_file.hpp"
#include "text.hpp"

namespace dovetail::tiom {
namespace {

/// Buffers, at most, beyond those that may be in use at once: as much as `measure` takes for the device's curve.
constexpr std::uint64_t most_memory = 64ULL << 20;

double cpu_seconds_now() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::byte* map_buffers(std::uint64_t places, std::uint64_t block) {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  const std::uint64_t available = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string what = std::to_string(places) + " buffers of " + size_text(block) +
                           "; ask for fewer series, smaller blocks or a smaller file";
  if (places > available / block) {
    throw std::invalid_argument("there is no memory for " + what);
  }
  void* const memory = mmap(nullptr, places * block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::invalid_argument("the system gives no memory for " + what);
  }
  madvise(memory, places * block, MADV_HUGEPAGE);  // as an `IoBuffer`, and as `measure` for the device's curve
  return static_cast<std::byte*>(memory);
}

}  // namespace

void RunState::Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }

RunState::RunState(const Settings& settings, const Point& point, const Plan& plan)
    : settings_(settings),
      point_(point),
      plan_(plan),
      descriptor_(::open(settings.file.c_str(), O_RDWR | O_CLOEXEC | (settings.direct ? O_DIRECT : 0))),
      slots_(std::min(point.series, plan.rounds()) * transfers_per_round(point.mode)),
      places_(slots_ * std::max<std::uint64_t>(1, std::min(settings.size, most_memory) / (slots_ * point.block))),
      pending_(places_),
      transferred_(plan.operations()),
      stopped_(std::make_unique<std::atomic<bool>[]>(point.series)),
      iterations_(static_cast<std::uint64_t>(settings.iterations_per_ms * point.compute_ms)) {
  if (descriptor_ < 0) {
    const int error = errno;
    if (settings.direct && error == EINVAL) {
      throw std::invalid_argument("the file system of '" + settings.file +
                                  "' has no direct I/O: say --buffered to go through the page cache");
    }
    throw IoError(error, "open", settings.file, 0, 0);
  }
  try {
    memory_ = {map_buffers(places_, point.block), Unmap{places_ * point.block}};
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  for (std::uint64_t place = 0; place < places_; ++place) {
    fill(buffer(place), place * point.block, Content::written);
  }
}

RunState::~RunState() { ::close(descriptor_); }

void RunState::start() {
  if (!settings_.direct && reads(point_.pattern)) {
    drop_cache(descriptor_);
  }
  cpu_before_ = cpu_seconds_now();
  begin_ = std::chrono::steady_clock::now();
  const auto limit = std::chrono::duration<double>(std::min(settings_.time_limit, 1e9));
  deadline_ = begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
}

RunResult RunState::finish() {
  RunResult result;
  // Without this, buffered writes would be timed as copies to memory, and what was left to do would slow down the next run.
  if (!settings_.direct && !reads(point_.pattern) && ::fdatasync(descriptor_) != 0) {
    throw IoError(errno, "fdatasync", settings_.file, 0, 0);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  result.cpu_seconds = cpu_seconds_now() - cpu_before_;
  result.computations = computations_.load(std::memory_order_relaxed);
  std::vector<bool> written(plan_.blocks());
  for (std::uint64_t operation = 0; operation < plan_.operations(); ++operation) {
    if (transferred_[operation] == point_.block) {
      ++result.operations;
      written[plan_.offset(operation) / point_.block] = true;
    }
  }
  result.complete = result.operations == plan_.operations();
  if (settings_.verify) {
    for (std::uint64_t place = 0; place < places_; ++place) {
      check_place(place);
    }
    if (reads(point_.pattern)) {
      written.assign(written.size(), false);
    }
    result.wrong_blocks = wrong_.load() + count_wrong_blocks(settings_, point_.block, written);
  }
  return result;
}

bool RunState::late() const noexcept { return std::chrono::steady_clock::now() >= deadline_; }

bool RunState::begin_round(std::uint64_t series) noexcept {
  if (goes_on(series) && late()) {
    stopped_[series].store(true, std::memory_order_relaxed);
  }
  return goes_on(series);
}

void RunState::compute_once() noexcept {
  compute(iterations_);
  computations_.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t RunState::place_for(std::uint64_t operation, std::uint64_t slot) const noexcept {
  // Turns of this slot's series before this one; they have ended, so whichever place they had is free.
  const std::uint64_t turn = operation / transfers_per_round(point_.mode) / point_.series;
  return (turn * slots_ + slot) % places_;
}

std::span<std::byte> RunState::buffer_for(std::uint64_t operation, std::uint64_t slot) {
  const std::uint64_t place = place_for(operation, slot);
  if (settings_.verify) {
    if (reads(point_.pattern)) {
      check_place(place);
      // So that bytes that never arrived cannot be right by chance.
      std::memset(buffer(place).data(), 0xEE, point_.block);
      pending_[place] = operation + 1;
    } else {
      fill(buffer(place), plan_.offset(operation), Content::written);
    }
  }
  return buffer(place);
}

void RunState::transfer_plainly(std::uint64_t operation, std::uint64_t slot) {
  const std::span<std::byte> bytes = buffer_for(operation, slot);
  transfer_all(descriptor_, bytes, plan_.offset(operation), reads(point_.pattern), settings_.file);
  transferred_[operation] = bytes.size();
}

void RunState::check_place(std::uint64_t place) noexcept {
  if (pending_[place] != 0) {
    const std::uint64_t operation = std::exchange(pending_[place], 0) - 1;
    if (!holds(buffer(place), plan_.offset(operation), Content::prepared)) {
      wrong_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace dovetail::tiom
