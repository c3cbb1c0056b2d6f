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

#if !DOVETAIL_THREAD_SANITIZER && !DOVETAIL_ADDRESS_SANITIZER  // they have a handler of their own

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

// If the fault is that of a stack.
void tell_whose_stack(const ThreadContext& here, const void* address) noexcept {
  const fiber::Stack* const own = here.worker != nullptr ? &here.worker->fibers.current->stack() : nullptr;
  if (!fiber::StackPool::is_below(own != nullptr ? own->lowest : here.lowest_of_stack, address)) {
    return;
  }
  Message message;
  message << "dovetail: task '" << (here.task != nullptr ? here.task->label->text : "between tasks")
          << "' has run out of ";
  if (own != nullptr) {
    message << "its stack of " << own->size / 1024
            << " KiB; set Options::stack_size or DOVETAIL_STACK_SIZE (bytes) to more";
  } else {
    message << "the stack of its thread, on which I/O tasks run; raise `ulimit -s`";
  }
  message << ", or keep large arrays on the heap\n";
  message.write_to_standard_error();
}

void handle(int number, siginfo_t* information, void* registers) {
  tell_whose_stack(context(), information->si_addr);
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
#if !DOVETAIL_THREAD_SANITIZER && !DOVETAIL_ADDRESS_SANITIZER
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
  pthread_attr_getstack(&attributes, &lowest, &size);
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
