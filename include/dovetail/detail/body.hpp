/// @file
/// How a body of any type becomes a task without a virtual call or an allocation of its own. Not part of the public
/// contract.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace dovetail {
struct TaskDescription;
class Runtime;

namespace detail {

struct Task;
struct RuntimeCore;

/// What the runtime must know of a body. A null function means that there is nothing to do.
struct BodyOperations {
  void (*run)(void* frame);             ///< Runs the body and keeps its result; exceptions pass through.
  void (*discard_body)(void* frame);    ///< Destroys the body, run or not.
  void (*discard_result)(void* frame);  ///< Destroys the result, if there is one.
};

/// Where the result of a task is kept: first in the frame, so that a `Future` finds it without knowing the body.
template <class T>
struct ResultPlace {
  std::optional<T> result;
};
template <class T>
struct ResultPlace<T&> {
  T* result = nullptr;
};
template <>
struct ResultPlace<void> {};

template <class Body, class T>
struct Frame : ResultPlace<T> {
  explicit Frame(Body&& body) : body_(std::move(body)) {}
  explicit Frame(const Body& body) : body_(body) {}
  ~Frame() {}  // the parts are destroyed one by one, by the operations below
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  static void run(void* frame) {
    auto* self = static_cast<Frame*>(frame);
    if constexpr (std::is_void_v<T>) {
      std::invoke(self->body_);
    } else if constexpr (std::is_reference_v<T>) {
      self->result = std::addressof(std::invoke(self->body_));
    } else {
      self->result.emplace(std::invoke(self->body_));
    }
  }
  static void discard_body(void* frame) { static_cast<Frame*>(frame)->body_.~Body(); }
  static void discard_result(void* frame) { static_cast<ResultPlace<T>*>(static_cast<Frame*>(frame))->~ResultPlace(); }

  static constexpr BodyOperations operations{
      &run,
      std::is_trivially_destructible_v<Body> ? nullptr : &discard_body,
      std::is_trivially_destructible_v<ResultPlace<T>> ? nullptr : &discard_result,
  };

  union {
    Body body_;
  };
};

/// A body that asks for more alignment than a task gives lives in an allocation of its own.
template <class Body>
struct AlignedBody {
  std::unique_ptr<Body> body;
  decltype(auto) operator()() { return std::invoke(*body); }
};

inline constexpr std::size_t frame_alignment = 16;

struct Created {
  Task* task;
  void* frame;
};

/// Reserves a task of the runtime (null: of the current task's). With a description, it is read before the call returns.
Created create_task(RuntimeCore* core, const BodyOperations& operations, std::size_t frame_size,
                    const TaskDescription* description);
/// Takes back a created task whose body could not be made.
void abandon_task(Task* task) noexcept;
/// Registers the accesses and lets the task go. Returns whether the caller should `make_way`, now and then when many tasks are pending. The
/// caller has a reference of its own.
[[nodiscard]] bool submit_task(Task* task, const TaskDescription* description);
/// Suspends the caller, or blocks a foreign thread, while too many tasks of the task's runtime are pending (throttling).
void make_way(const Task* task);

void retain(Task* task) noexcept;
void release(Task* task) noexcept;
void wait_task(Task* task);
bool task_ready(const Task* task) noexcept;
/// Waits, and throws `TaskFailed` if the task failed.
void take_task(Task* task);
void cancel_task(Task* task) noexcept;
/// Takes `callback`, to call it once the task has completed. Returns false if it has: then the callback is still the caller's.
bool call_when_completed(Task* task, std::function<void()>& callback);
/// Has the coroutine at that address go on in a task of its own, of the same runtime, once the task has completed. Returns false if it has.
bool resume_when_completed(Task* task, void* coroutine);
void* frame_of(Task* task) noexcept;

}  // namespace detail
}  // namespace dovetail
