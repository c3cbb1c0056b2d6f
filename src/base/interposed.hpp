// What libraries that stand before the C library share. Header-only: some of them are linked with nothing else.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <atomic>

#define DOVETAIL_CALL extern "C" [[gnu::visibility("default")]]
#define DOVETAIL_ALIAS(name) __attribute__((alias(name), visibility("default")))

namespace dovetail::base {

/// A function of the C library, or of another library that stands behind the one that asks. It is found when it is first called, or by `find`. Calls before
/// that are those of constructors that run earlier. Thread-safe.
template <class Type>
class NextFunction {
 public:
  consteval explicit NextFunction(const char* name) noexcept : name_(name) {}
  template <class... Arguments>
  auto operator()(Arguments... arguments) noexcept(false) {
    Type* found = found_.load(std::memory_order_relaxed);
    return (found != nullptr ? found : find())(arguments...);
  }
  [[gnu::noinline, gnu::cold]] Type* find() noexcept {
    auto* found = reinterpret_cast<Type*>(dlsym(RTLD_NEXT, name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }
  /// Not every C library has every function.
  bool exists() const noexcept { return found_.load(std::memory_order_relaxed) != nullptr; }

 private:
  const char* name_;
  std::atomic<Type*> found_{nullptr};
};

/// Whether a call that opens a file has the argument that says how it is made.
inline bool has_mode(int flags) noexcept { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/// What the C library does when a fortified program is about to overrun a buffer: ends it.
[[noreturn]] inline void buffer_overrun() noexcept {
  if (auto* fail = reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "__chk_fail"))) {
    fail();
  }
  __builtin_trap();
}

}  // namespace dovetail::base
