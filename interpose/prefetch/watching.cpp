#include "watching.hpp"

#include <cerrno>

#include "recorder.hpp"
#include "replayer.hpp"

namespace dovetail::prefetch {

Descriptor* classify(int descriptor) noexcept {
  const int error = errno;
  Descriptor& found = descriptors[descriptor];
  FileIdentity identity{};
  std::uint32_t state = Descriptor::ignored;
  if (look_at(descriptor, identity)) {
    state = recorder.on() ? recorder.begin(descriptor, found, identity) : replayer.begin(descriptor, found, identity);
  }
  found.state.store(state, std::memory_order_release);
  if (state != Descriptor::ignored && !recorder.on()) {
    replayer.go_on(descriptor, state);
  }
  errno = error;
  return state == Descriptor::ignored ? nullptr : &found;
}

}  // namespace dovetail::prefetch
