// How a wait of a foreign thread ends for a reason that only the program knows.
#pragma once

#include <chrono>

namespace dovetail::tasking {

/// Thrown out of a wait of a foreign thread that its `look` has ended.
struct WaitInterrupted {};
/// Has `look` called several times a second, without any lock, whenever the calling thread, a foreign one, is blocked in
/// a wait for tasks; if it returns true the wait ends by `WaitInterrupted`, and what is waited for goes on. For
/// languages that learn of signals only by asking. Null: never.
void set_interrupt_look(bool (*look)()) noexcept;
inline constexpr std::chrono::milliseconds between_interrupt_looks{50};
/// The look of the calling thread, or null.
bool (*interrupt_look_of_thread() noexcept)();

}  // namespace dovetail::tasking
