// The descriptors of the program that lead to files which the configuration names.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/mutex.hpp"
#include "held_signals.hpp"
#include "program_file.hpp"

namespace dovetail::interpose::staged {

/// What descriptors share that are copies of each other. The position is that of the system's own description.
struct Description {
  std::shared_ptr<ProgramFile> file;
  std::atomic<int> flags;  ///< As of F_GETFL.
  base::Mutex position;    ///< Held from a look at it until it is set.
};
using DescriptionPointer = std::shared_ptr<Description>;

/// What a descriptor leads to, for one call of one thread. The thread takes no signals meanwhile: a handler that jumped out of the call would leave this
/// reference behind for ever. Once for the whole call, since each change of a thread's mask is a system call.
class DescriptionInUse {
 public:
  DescriptionInUse() noexcept = default;
  /// The caller holds signals.
  explicit DescriptionInUse(DescriptionPointer found) noexcept : found_(std::move(found)) {
    if (found_ != nullptr) {
      HeldSignals::hold();
    }
  }
  ~DescriptionInUse() {
    if (found_ != nullptr) {
      found_ = nullptr;
      HeldSignals::let_go();
    }
  }
  DescriptionInUse(const DescriptionInUse&) = delete;
  DescriptionInUse& operator=(const DescriptionInUse&) = delete;
  bool operator==(std::nullptr_t) const noexcept { return found_ == nullptr; }
  Description* operator->() const noexcept { return found_.get(); }
  Description& operator*() const noexcept { return *found_; }
  const DescriptionPointer& pointer() const noexcept { return found_; }

 private:
  DescriptionPointer found_;
};

/// Descriptors above are not looked at.
inline constexpr int most_descriptors = 65536;
extern constinit std::atomic<bool> has_description[most_descriptors];

DescriptionInUse find_description(int descriptor) noexcept;
/// Null: it does not lead to such a file. Any thread. Next to no cost where it is null.
inline DescriptionInUse description_of(int descriptor) noexcept {
  return static_cast<unsigned>(descriptor) < most_descriptors &&
                 has_description[descriptor].load(std::memory_order_acquire)
             ? find_description(descriptor)
             : DescriptionInUse();
}
/// `file` has been opened for it. Also of one that was something else. @throws std::bad_alloc, and the descriptor leads nowhere
void add_description(int descriptor, DescriptionPointer description);
/// `to` is a copy of `from` from now on.
void copy_description(int from, int to) noexcept;
/// It leads nowhere any more. Called before it is closed, since another thread may get the number then. 0, or the errno of a drain behind the program.
int remove_description(int descriptor) noexcept;
void remove_descriptions(unsigned first, unsigned last) noexcept;
/// A stream of the C library has it, which reads and writes by calls that are not seen; or has it no more. Those of the first three have it from the start.
void note_stream(int descriptor) noexcept;
void forget_stream(int descriptor) noexcept;
/// This is the process that uses the library, not the child of a vfork.
bool is_own_process() noexcept;
/// At the start, and in the child of a fork.
void begin_process() noexcept;

}  // namespace dovetail::interpose::staged
