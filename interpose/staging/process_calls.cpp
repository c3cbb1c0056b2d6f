// The beginning and the end of processes. A child shares the descriptors of its parent, and not the log: what is staged is given up before one is made.
#include <pthread.h>
#include <sched.h>

#include <cstdarg>
#include <cstddef>

#include "children.hpp"
#include "configuration.hpp"
#include "descriptors.hpp"
#include "draining.hpp"
#include "libc.hpp"
#include "listener.hpp"
#include "opening.hpp"
#include "own_descriptors.hpp"
#include "program_files.hpp"
#include "staging_pauses.hpp"
#include "tell.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace dovetail::interpose::staged {

// What a child has, and the parent has closed, is drained: the child's copy of the lock of a log would keep others out.
void settle_for_child() noexcept {
  if (!no_files() && is_active()) {
    const KeptErrno kept;
    finish_all("the program has made a child, which has its descriptor");
  }
}

}  // namespace dovetail::interpose::staged

namespace {

void before_fork() {
  ++staging_pauses;
  settle_for_child();
}
// What another thread has opened meanwhile the child may have as well.
void in_parent() {
  settle_for_child();
  --staging_pauses;
}
void in_child() {
  staging_pauses = 0;
  forget_files();
  forget_drains();
  forget_listener();
  close_own();
  begin_process();
}

class Child {
 public:
  Child() { before_fork(); }
  ~Child() { in_parent(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
};

// Nothing becomes staged any more.
void before_end() noexcept {
  if (is_active()) {
    const KeptErrno kept;
    ++staging_pauses;
    finish_all(nullptr);
  }
}

// The program that follows has the descriptors. If there is none, all goes on.
template <class Call>
int execute(const Call& call) noexcept {
  if (!is_active()) {
    return call();  // also in the child of a vfork, which has the memory of its parent
  }
  before_end();
  const int result = call();
  --staging_pauses;
  return result;
}

[[gnu::constructor(101)]] void start_with_the_program() {
  const KeptErrno kept;
  find_all();
  find_standard_error();
  begin_process();
  if (!configuration().is_empty()) {
    tier_settings();  // what is wrong there ends the program before it has done anything
    pthread_atfork(before_fork, in_parent, in_child);
    at_quick_exit(before_end);
  }
}
[[gnu::destructor(101)]] void end_with_the_program() { before_end(); }

}  // namespace

DOVETAIL_CALL int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return execute([&] { return libc::execve(path, arguments, environment); });
}
DOVETAIL_CALL int execv(const char* path, char* const* arguments) noexcept {
  return execute([&] { return libc::execv(path, arguments); });
}
DOVETAIL_CALL int execvp(const char* file, char* const* arguments) noexcept {
  return execute([&] { return libc::execvp(file, arguments); });
}
DOVETAIL_CALL int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  return execute([&] { return libc::execvpe(file, arguments, environment); });
}
DOVETAIL_CALL int fexecve(int fd, char* const* arguments, char* const* environment) noexcept {
  return execute([&] { return libc::fexecve(fd, arguments, environment); });
}
DOVETAIL_CALL int execveat(int folder, const char* path, char* const* arguments, char* const* environment,
                           int flags) noexcept {
  return execute([&] { return libc::execveat(folder, path, arguments, environment, flags); });
}

namespace {

// The arguments in an array, up to the null: on the stack, since the child of a vfork has the memory of its parent. `call` is given it, and what follows.
template <class Call>
int with_arguments(const char* first, va_list rest, const Call& call) noexcept {
  std::size_t count = 1;
  va_list counted;
  va_copy(counted, rest);
  for (const char* each = first; each != nullptr; each = va_arg(counted, const char*)) {
    ++count;
  }
  va_end(counted);
  auto** const arguments = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i < count; ++i) {
    arguments[i] = va_arg(rest, char*);
  }
  return call(arguments, rest);
}

}  // namespace

DOVETAIL_CALL int execl(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const int result = with_arguments(first, rest, [&](char** arguments, va_list) { return execv(path, arguments); });
  va_end(rest);
  return result;
}
DOVETAIL_CALL int execlp(const char* file, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const int result = with_arguments(first, rest, [&](char** arguments, va_list) { return execvp(file, arguments); });
  va_end(rest);
  return result;
}
DOVETAIL_CALL int execle(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const int result = with_arguments(first, rest, [&](char** arguments, va_list after) {
    return execve(path, arguments, va_arg(after, char* const*));
  });
  va_end(rest);
  return result;
}

// Handlers of pthread_atfork are not called. The child makes its calls without this library.
DOVETAIL_CALL pid_t _Fork() noexcept {
  before_fork();
  const pid_t child = libc::_Fork();
  if (child != 0) {
    in_parent();
  }
  return child;
}
DOVETAIL_CALL int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
  va_list rest;
  va_start(rest, argument);
  auto* const parent_id = va_arg(rest, pid_t*);
  void* const thread_locals = va_arg(rest, void*);
  auto* const child_id = va_arg(rest, pid_t*);
  va_end(rest);
  const bool is_thread = (flags & CLONE_THREAD) != 0;
  if (!is_thread) {
    before_fork();
  }
  const int child = libc::clone(function, stack, flags, argument, parent_id, thread_locals, child_id);
  if (!is_thread) {
    in_parent();
  }
  return child;
}

DOVETAIL_CALL int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  const Child made;
  return libc::posix_spawn(child, path, actions, attributes, arguments, environment);
}
DOVETAIL_CALL int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  const Child made;
  return libc::posix_spawnp(child, file, actions, attributes, arguments, environment);
}
DOVETAIL_CALL FILE* popen(const char* command, const char* mode) {
  const Child made;
  return libc::popen(command, mode);
}
DOVETAIL_CALL int system(const char* command) {
  {
    const Child made;  // its shell begins with what is on the disk
  }
  return libc::system(command);
}

DOVETAIL_CALL __attribute__((noreturn)) void _exit(int status) {
  before_end();
  libc::_exit(status);
  __builtin_unreachable();
}
extern "C" __attribute__((noreturn)) void _Exit(int) DOVETAIL_ALIAS("_exit");
