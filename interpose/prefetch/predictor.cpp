#include "predictor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "helper.hpp"

namespace dovetail::prefetching {
namespace {

void leave_to_the_system(int number, Descriptor& descriptor, bool left) noexcept {
  const std::uint32_t wanted = left ? 1 : 0;
  // A load costs less, and says so nearly always.
  if (descriptor.left_alone.load(std::memory_order_relaxed) != wanted &&
      descriptor.left_alone.exchange(wanted, std::memory_order_relaxed) != wanted) {
    posix_fadvise(number, 0, 0, left ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM);
  }
}

}  // namespace

constinit Predictor predictor;

bool Predictor::start(std::byte* memory, std::uint64_t bytes) noexcept {
  table_ = DetectionTable::in(memory, bytes);
  if (table_.files() == 0 || !helper.prepare()) {
    table_ = {};
    return false;
  }
  timed_ = table_.timed();
  process_ = getpid();
  return true;
}

void Predictor::opened(const char* path, int folder) const noexcept { table_.opens().note(path, folder, process_); }

void Predictor::forked() noexcept { process_ = getpid(); }

std::uint32_t Predictor::begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept {
  bool made = false;
  const std::uint32_t found = table_.find(identity, made);
  if (found == table_.files() || table_.file(found).given_up.load(std::memory_order_relaxed) != not_given_up) {
    return Descriptor::ignored;
  }
  if (made) {
    char* name = table_.file(found).name;
    if (name_of(number, name, DetectedFile::longest_name) == 0) {
      name[0] = '\0';  // what there was room for is no path
    }
  }
  // One that was duplicated or inherited may have been told already, but not about a file that nothing was asked for.
  const bool told = table_.file(found).asked.load(std::memory_order_relaxed) != 0;
  descriptor.left_alone.store(told ? 2 : 1, std::memory_order_relaxed);
  descriptor.stream.store(0, std::memory_order_relaxed);
  detections[number].position.store(0, std::memory_order_relaxed);
  detections[number].reads.forget();
  detections[number].trust.lose();
  return Descriptor::first_detected + found;
}

void Predictor::note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes,
                     std::uint64_t took) noexcept {
  const std::uint32_t file = descriptor.state.load(std::memory_order_acquire) - Descriptor::first_detected;
  if (file >= table_.files()) {
    return;
  }
  DetectedFile& detected = table_.file(file);
  if (took != 0) {
    detected.counts.count(bytes, took);
  }
  const bool repetition_rests = detected.repetition.rests();
  detections[number].reads.note(
      offset, bytes, repetition_rests, [&](std::uint64_t from, std::uint64_t length, bool resting) noexcept {
        tell(number, descriptor, detected, {from, from + length}, {resting, repetition_rests});
      });
}

void Predictor::tell(int number, Descriptor& descriptor, DetectedFile& file, const Range& read,
                     const Rests& rests) noexcept {
  if (file.given_up.load(std::memory_order_relaxed) != not_given_up) {
    leave_to_the_system(number, descriptor, true);
    std::uint32_t seen = descriptor.state.load(std::memory_order_relaxed);
    if (seen >= Descriptor::first_detected && seen < Descriptor::fresh) {
      descriptor.state.compare_exchange_strong(seen, Descriptor::ignored, std::memory_order_release);
    }
    return;
  }
  const Detector::Noted noted =
      file.note(read.offset, read.end - read.offset, table_.limits(file), rests.detector, rests.repetition);
  detections[number].trust.note(noted);
  if (noted == Detector::Noted::no_pattern) {
    detections[number].reads.rest(file.detector.rest());
  }
  table_.count_outstanding(file);
  leave_to_the_system(number, descriptor, !detections[number].trust.is_enough());
  if (file.has_advice()) {
    helper.advise(number, descriptor.state.load(std::memory_order_relaxed), file);
  }
}

}  // namespace dovetail::prefetching
