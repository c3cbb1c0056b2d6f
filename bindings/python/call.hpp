// One call of a Python task: what is shared by its body, its futures and the tasks and threads that wait for it.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "blocking_looks.hpp"
#include "dovetail/access.hpp"
#include "dovetail/failure.hpp"
#include "dovetail/future.hpp"
#include "dovetail/task.hpp"
#include "failure.hpp"
#include "held.hpp"

namespace dovetail::python {

/// How a task uses one parameter.
enum class Direction : std::uint8_t {
  in,
  out,
  inout,
  commutative,
  file_in,
  file_out,
  file_inout,
  file_commutative,
  unordered
};

struct Parameter {
  std::string name;
  Direction direction = Direction::in;
};

class Limit;

struct Counts;

/// What is the same for all calls of one decorated function.
struct Signature {
  Held function;
  std::string label;
  int priority = 0;
  bool io = false;
  /// The function is called with an `Ending` before its arguments, and the task completes when that is given a result.
  bool deferred = false;
  /// The calls are those of an executor: no children of the task that makes them, and their failures are the exceptions of the bodies.
  bool standalone = false;
  std::shared_ptr<Limit> limit;  ///< Or none.
  Held retry_on;           ///< The classes of exceptions after which the body is run again, as a tuple; nothing: all.
  double retry_delay = 0;  ///< Seconds before the second attempt; twice as many before each that follows.
  Py_ssize_t returns = 1;  ///< How many values the result has, if more than one.
  FailurePolicy on_failure;
  /// Of the positional arguments, as far as they are not `rest`.
  std::vector<Parameter> positional;
  Direction rest = Direction::in;    ///< Of `*args`.
  Direction others = Direction::in;  ///< Of keyword arguments without a direction.
  std::unordered_map<std::string, Direction> named;
  StorageBandwidth storage_bw;  ///< Of an I/O task.
  std::string device;           ///< Of an I/O task; empty: the usual one.
  mutable BlockingLooks blocking;
  Counts* counts = nullptr;  ///< Of its type of task.

  /// Whether the bodies run on workers, from beginning to end.
  bool runs_on_workers() const noexcept { return !io && !deferred; }
};

/// Whether the body of a call may still be kept from beginning.
enum class Stage : std::uint8_t { waiting, begun, cancelled };

/// Functions that are called with a future once its task has completed or been cancelled. All of it under the interpreter's lock.
class Callbacks {
 public:
  void add(Held function, Held future) { waiting_.push_back({std::move(function), std::move(future)}); }
  /// Calls those that are there, in the order in which they came. What one raises is reported.
  void call();

 private:
  struct Callback {
    Held function;
    Held future;
  };
  std::vector<Callback> waiting_;
};
/// Calls a function with a future. What it raises is reported.
void call_back(PyObject* function, PyObject* future);

/// Made by the spawner, filled in by the body. Reference counted.
class Call {
 public:
  Held signature_object;  ///< Keeps `signature` alive.
  const Signature* signature = nullptr;
  Held arguments;                        ///< Tuple; dropped when no attempt is left.
  Held keywords;                         ///< Dictionary or nothing.
  Held result;                           ///< Valid once the task has completed without failure.
  std::uint64_t token = 0;               ///< Stands for the result in the dependency graph.
  const detail::Task* domain = nullptr;  ///< Whose child the task is; null: it has no parent.
  const detail::Task* task = nullptr;    ///< Once the body has begun.
  std::atomic<Stage> stage{Stage::waiting};
  bool has_place = false;                ///< In the limit.
  std::unique_ptr<Callbacks> callbacks;  ///< Once there is one. Under the interpreter's lock.
  Held made_in;                          ///< The code that made the call; nothing if that is not known.
  int made_at = -1;                      ///< The place in it.
  unsigned attempts_left = 0;
  unsigned attempt = 0;  ///< From 1, once the body has begun.
  bool futures_in_arguments = false;
  std::vector<std::string>
      outputs;  ///< Paths of files that the body writes. Under the interpreter's lock, as all below.
  unsigned long thread_state_id = 0;  ///< While the body runs: of its thread state.
  bool changed = false;               ///< A task was told to change the result in place.

  Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  /// The body begins: the current task is the call's from now on. The caller holds the interpreter.
  /// @throws IoError (ECANCELED) when the call has been cancelled.
  void begun();
  /// The body is to run elsewhere and waits for that: until `begin_postponed` it counts as one that has not begun.
  void postpone() noexcept;
  /// False: the body must not begin, since the call has been cancelled, or, as the caller knows, its task.
  bool begin_postponed(bool task_is_cancelled) noexcept;
  /// Keeps the body from beginning. False: it has begun.
  bool cancel() noexcept;
  /// The task completes: drops what only the body needed.
  void completed() noexcept;

 private:
  ~Call() = default;
  std::atomic<std::uint32_t> references_{1};
};

/// The task of a call, as failures tell it. The caller holds the interpreter.
Origin origin_of(const Call& call);
/// The running task; empty outside of the bodies of Python tasks. The caller holds the interpreter.
Origin current_origin();

/// One reference to a call.
class CallReference {
 public:
  CallReference() noexcept = default;
  explicit CallReference(Call* adopted) noexcept : call_(adopted) {}
  CallReference(const CallReference& other) noexcept : call_(other.call_) {
    if (call_ != nullptr) {
      call_->retain();
    }
  }
  CallReference(CallReference&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  CallReference& operator=(CallReference other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~CallReference() {
    if (call_ != nullptr) {
      call_->release();
    }
  }
  Call* operator->() const noexcept { return call_; }
  Call& operator*() const noexcept { return *call_; }
  Call* get() const noexcept { return call_; }

 private:
  Call* call_ = nullptr;
};

/// Calls `visit` for each call whose body has begun and whose task has not ended. The caller holds the interpreter.
void for_each_running(const std::function<void(const Call&)>& visit);
/// A file that a task has begun to write and not finished.
struct IncompleteFile {
  std::string label;  ///< Of the task.
  std::string path;
};
/// Those of tasks that run, and of those that have failed since the last call. The caller holds the interpreter.
std::vector<IncompleteFile> take_incomplete();
/// The running task writes that file. Does nothing outside of the bodies of Python tasks. The caller holds the interpreter.
void note_output(const std::string& path);

/// A number that stands for one thing that is not in memory.
std::uint64_t new_token() noexcept;

}  // namespace dovetail::python
