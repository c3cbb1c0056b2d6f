#include "replayer.hpp"

#include <fcntl.h>

#include <cerrno>

#include "guide.hpp"
#include "helper.hpp"
#include "predictor.hpp"
#include "prefetch/follower.hpp"

namespace dovetail::prefetching {

constinit Replayer replayer;

bool Replayer::start(std::byte* memory, std::uint64_t bytes) noexcept {
  plan_ = Plan::in(memory, bytes);
  if (plan_.files() == 0 || !helper.prepare()) {
    plan_ = {};
    return false;
  }
  return true;
}

std::uint32_t Replayer::begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept {
  const std::uint32_t file = plan_.find(identity);
  if (file == plan_.files()) {
    return Descriptor::ignored;
  }
  const FilePlan plan = plan_.file(file);
  if (plan.count == 0 && plan.progress != nullptr && !guide.on()) {
    return Descriptor::first_file + file;  // the first read of it is all that is noted
  }
  if (may_begin_again(plan)) {
    descriptor.left_alone.store(1, std::memory_order_relaxed);
    return Descriptor::first_file + file;
  }
  if (is_over(plan)) {
    note_begun(plan);
    return Descriptor::ignored;
  }
  descriptor.left_alone.store(0, std::memory_order_relaxed);
  // The system's own reading ahead would fetch what the plan leaves out.
  posix_fadvise(number, 0, 0, POSIX_FADV_RANDOM);
  return Descriptor::first_file + file;
}

void Replayer::go_on(int number, std::uint32_t state) noexcept {
  const FilePlan plan = plan_.file(state - Descriptor::first_file);
  if (wants_advice(plan)) {
    helper.advise(number, state, plan);
  }
}

namespace {

// By a descriptor that was left to the system when the plan was over.
void follow_again(int number, Descriptor& descriptor) noexcept {
  if (descriptor.left_alone.load(std::memory_order_relaxed) != 0 &&
      descriptor.left_alone.exchange(0, std::memory_order_relaxed) != 0) {
    posix_fadvise(number, 0, 0, POSIX_FADV_RANDOM);
  }
}

}  // namespace

void Replayer::note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes,
                    std::uint64_t took) noexcept {
  const std::uint32_t state = descriptor.state.load(std::memory_order_acquire);
  if (state < Descriptor::first_file || state - Descriptor::first_file >= plan_.files()) {
    return;
  }
  const FilePlan plan = plan_.file(state - Descriptor::first_file);
  if (plan.count == 0) {
    note_begun(plan);
    std::uint32_t seen = state;
    descriptor.state.compare_exchange_strong(seen, predictor.on() ? Descriptor::fresh : Descriptor::ignored,
                                             std::memory_order_release);
    return;
  }
  if (took != 0) {
    count_read(plan, bytes, took);
  }
  switch (follow(plan, offset, bytes)) {
    case Followed::fits:
      follow_again(number, descriptor);
      break;
    case Followed::wants:
      follow_again(number, descriptor);
      helper.advise(number, state, plan);
      break;
    case Followed::over:
      if (descriptor.left_alone.exchange(1, std::memory_order_relaxed) == 0) {
        posix_fadvise(number, 0, 0, POSIX_FADV_NORMAL);
      }
      // What the plan does not say may show in the reads, also that they come again.
      if (predictor.on() ? !perhaps_begins_again(plan) : !may_begin_again(plan)) {
        std::uint32_t seen = state;
        const bool cached = plan.count != 0 && plan.progress->given_up.load(std::memory_order_relaxed) == all_is_cached;
        descriptor.state.compare_exchange_strong(
            seen, predictor.on() && !cached ? Descriptor::fresh : Descriptor::ignored, std::memory_order_release);
      }
      break;
  }
}

}  // namespace dovetail::prefetching
