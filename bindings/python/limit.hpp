// How many tasks of a kind run at once.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.hpp"

namespace nanobind {
class handle;
class module_;
}  // namespace nanobind

namespace dovetail::python {

/// Places, of which each task holds one from before it is ready until it completes. Those that wait get one in the order of their arrival.
/// A task that pauses keeps its place.
class Limit {
 public:
  /// @throws std::invalid_argument for no place at all.
  explicit Limit(std::size_t most);
  /// Calls the function, now or when there is a place, which is then the caller's. From any thread.
  void enter(std::function<void()> placed);
  /// Gives a place to the next.
  void leave() noexcept;
  std::size_t most() const noexcept { return most_; }

 private:
  const std::size_t most_;
  base::Mutex mutex_;
  std::size_t free_ GUARDED_BY(mutex_);
  std::deque<std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

/// Of a Python object `Limit`; nothing for None.
std::shared_ptr<Limit> shared_limit(nanobind::handle object);
void bind_limit(nanobind::module_& module);

}  // namespace dovetail::python
