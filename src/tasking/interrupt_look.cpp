#include "tasking/interrupt_look.hpp"

namespace dovetail::tasking {
namespace {

thread_local bool (*look_of_this_thread)() = nullptr;

}  // namespace

void set_interrupt_look(bool (*look)()) noexcept { look_of_this_thread = look; }
bool (*interrupt_look_of_thread() noexcept)() { return look_of_this_thread; }

}  // namespace dovetail::tasking
