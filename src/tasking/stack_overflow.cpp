#include "tasking/stack_overflow.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

#include "base/sanitizer.hpp"
#include "fiber/stack_pool.hpp"
#include "tasking/context.hpp"
#include "tasking/label.hpp"
#include "tasking/task.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t alternate_bytes = 64UL * 1024;

#if !defined(DOVETAIL_THREAD_SANITIZER) && !defined(DOVETAIL_ADDRESS_SANITIZER)  // they have a handler of their own

struct sigaction previous;

// Only what a signal handler may call.
class Message {
 public:
  Message& operator<<(std::string_view text) noexcept {
    const std::size_t count = std::min(text.size(), sizeof buffer_ - size_);
    std::memcpy(buffer_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Message& operator<<(std::size_t number) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  void write_to_standard_error() const noexcept {
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, buffer_, size_);
  }

 private:
  char buffer_[512];
  std::size_t size_ = 0;
};

// Below it is a guard, and beyond that what a frame with large arrays may touch first.
bool is_below(const std::byte* lowest, const void* address) noexcept {
  const auto* const byte = static_cast<const std::byte*>(address);
  return lowest != nullptr && byte < lowest && byte >= lowest - fiber::StackPool::guard_bytes;
}

void handle(int number, siginfo_t* information, void* registers) {
  const ThreadContext& here = context();
  if (here.worker == nullptr && is_below(here.lowest_of_stack, information->si_addr)) {
    Message message;
    message << "dovetail: task '" << (here.task != nullptr ? here.task->label->text : "between tasks")
            << "' has run out of the stack of its thread, as all I/O tasks have it from the system; raise `ulimit -s`, "
               "or keep large arrays "
               "on the heap\n";
    message.write_to_standard_error();
  }
  if (here.worker != nullptr &&
      fiber::StackPool::in_guard(here.worker->fibers.current->stack(), information->si_addr)) {
    Message message;
    message
        << "dovetail: task '" << (here.task != nullptr ? here.task->label->text : "between tasks")
        << "' has run out of its stack of " << here.worker->fibers.current->stack().size / 1024
        << " KiB; set Options::stack_size or DOVETAIL_STACK_SIZE (bytes) to more, or keep large arrays on the heap\n";
    message.write_to_standard_error();
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, information, registers);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  } else {
    // The instruction is executed again, and ends the process as it would have.
    sigaction(number, &previous, nullptr);
  }
}

#endif

}  // namespace

void report_stack_overflows() {
#if !defined(DOVETAIL_THREAD_SANITIZER) && !defined(DOVETAIL_ADDRESS_SANITIZER)
  static const bool installed = [] {
    struct sigaction action{};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous) == 0;
  }();
  static_cast<void>(installed);
#endif
}

const std::byte* lowest_of_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    return nullptr;
  }
  void* lowest = nullptr;
  std::size_t size = 0;
  std::size_t guard = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  return static_cast<const std::byte*>(lowest);
}

AlternateStack::AlternateStack() {
  stack_t current{};
  if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) {
    return;  // a sanitizer's, say
  }
  memory_.reset(new (std::nothrow) std::byte[alternate_bytes]);
  if (memory_ == nullptr) {
    return;  // then an overflow ends the process without a word
  }
  stack_t own{};
  own.ss_sp = memory_.get();
  own.ss_size = alternate_bytes;
  sigaltstack(&own, nullptr);
}

AlternateStack::~AlternateStack() {
  if (memory_ != nullptr) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
}

}  // namespace dovetail::tasking
