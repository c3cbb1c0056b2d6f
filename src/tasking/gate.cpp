#include "tasking/gate.hpp"

namespace dovetail::tasking {
namespace {
constinit std::atomic<Gate*> the_gate{nullptr};
}

bool register_gate(Gate* gate) noexcept {
  the_gate.store(gate, std::memory_order_release);
  return true;
}

Gate* find_gate() noexcept { return the_gate.load(std::memory_order_acquire); }

}  // namespace dovetail::tasking
