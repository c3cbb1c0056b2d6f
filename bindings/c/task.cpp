// Spawning: a C body and its argument as the frame of a task.
#include "dovetail/task.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "argument.hpp"
#include "dovetail/access.hpp"
#include "error.hpp"
#include "frame.hpp"
#include "tasking/pause.hpp"

namespace dovetail::c {
namespace {

// The failure of a body that returned `code`. When that is the code of the task's last error, it is that error which
// the task hands on, with its file, offset and message.
[[noreturn]] void throw_failure_of_body(std::int32_t code) {
  if (code < lowest_code) {
    throw ProgramError(-EPROTO,
                       "the body of the task returned " + std::to_string(code) + ", which is no negative errno");
  }
  const Error* const error = last_error();
  if (error != nullptr && error->code == code && error->cause != nullptr) {
    std::rethrow_exception(error->cause);
  }
  throw ProgramError(code, "the body of the task returned " + std::to_string(code));
}

void run_body(void* place) {
  auto& frame = *static_cast<Frame*>(place);
  struct ForgetError {
    detail::Task* task = tasking::current_task();
    ~ForgetError() { forget_error(task); }
  } const forget_error_at_the_end;
  if (frame.body != nullptr) {
    frame.body(frame.argument);
    return;
  }
  const std::int32_t result = frame.fallible_body(frame.argument);
  if (result < 0) {
    throw_failure_of_body(result);
  }
  frame.result = result;
}

void free_copy(void* copy) noexcept { ::operator delete(copy, std::align_val_t(detail::frame_alignment)); }

void discard_body(void* place) {
  auto& frame = *static_cast<Frame*>(place);
  if (frame.destroy != nullptr) {
    frame.destroy(frame.argument);
  }
  if (frame.copy_on_heap) {
    free_copy(frame.argument);
  }
}

constexpr detail::BodyOperations plain_operations{&run_body, nullptr, nullptr};
constexpr detail::BodyOperations discarding_operations{&run_body, &discard_body, nullptr};

AccessList translate_accesses(const dovetail_task_description& given_description) {
  if (given_description.access_count > 0) {
    given(given_description.accesses, "description->accesses");
  }
  std::vector<Access> many;
  Access few[AccessList::inline_capacity];
  Access* accesses = few;
  if (given_description.access_count > AccessList::inline_capacity) {
    many.resize(given_description.access_count);
    accesses = many.data();
  }
  for (std::size_t i = 0; i < given_description.access_count; ++i) {
    const dovetail_access& access = given_description.accesses[i];
    if (access.mode < 0 && access.mode >= lowest_code) {
      throw std::system_error(-access.mode, std::generic_category(),
                              "access " + std::to_string(i) + " of the task could not be made");
    }
    choice(access.mode, DOVETAIL_ACCESS_COMMUTATIVE, "description->accesses[].mode");
    accesses[i] = {{static_cast<std::uint64_t>(access.space), static_cast<std::uint64_t>(access.begin),
                    static_cast<std::uint64_t>(access.length)},
                   static_cast<AccessMode>(access.mode)};
  }
  return AccessList(std::span<const Access>(accesses, given_description.access_count));
}

TaskDescription translate(const dovetail_task_description& given_description) {
  TaskDescription description;
  if (given_description.label != nullptr) {
    description.label = given_description.label;
  }
  description.access = translate_accesses(given_description);
  description.priority = given_description.priority;
  description.io = given_description.io != 0;
  description.tied = given_description.tied != 0;
  const auto action = choice(given_description.on_failure, DOVETAIL_FAILURE_IGNORED, "description->on_failure");
  description.on_failure.action =
      action == DOVETAIL_FAILURE_IGNORED ? FailurePolicy::Action::ignore : FailurePolicy::Action::cancel_successors;
  description.on_failure.retries = static_cast<unsigned>(natural(given_description.retries, "description->retries"));
  choice(given_description.reserved, 0, "description->reserved");
  if (given_description.storage_bw != nullptr) {
    description.storage_bw = StorageBandwidth::parse(given_description.storage_bw);
  }
  if (given_description.device != nullptr) {
    description.device = given_description.device;
  }
  return description;
}

struct FreeCopy {
  void operator()(void* copy) const noexcept { free_copy(copy); }
};

// `core` null: a child of the current task.
std::int32_t spawn(detail::RuntimeCore* core, const dovetail_task_description* structure, dovetail_future** future) {
  const auto wanted = known_part(structure, "description");
  if ((wanted.body == nullptr) == (wanted.fallible_body == nullptr)) {
    throw std::invalid_argument("set exactly one of 'description->body' and 'description->fallible_body'");
  }
  if (wanted.argument_size > 0) {
    given(static_cast<std::byte*>(wanted.argument), "description->argument");
  }
  TaskDescription description = translate(wanted);

  // The copy of an argument is a part of the frame, without an allocation. The exception: `onready` must be told its
  // address before there is a frame.
  std::unique_ptr<void, FreeCopy> heap_copy;
  if (wanted.argument_size > 0 && wanted.onready != nullptr) {
    heap_copy.reset(::operator new(wanted.argument_size, std::align_val_t(detail::frame_alignment)));
  }
  if (wanted.onready != nullptr) {
    void* const argument = heap_copy != nullptr ? heap_copy.get() : wanted.argument;
    description.onready = [onready = wanted.onready, argument] { onready(argument); };
  }
  const bool copy_in_frame = wanted.argument_size > 0 && heap_copy == nullptr;
  const bool discards = wanted.destroy != nullptr || heap_copy != nullptr;
  const detail::Created created =
      detail::create_task(core, discards ? discarding_operations : plain_operations,
                          sizeof(Frame) + (copy_in_frame ? wanted.argument_size : 0), &description);
  auto* const frame = new (created.frame) Frame;
  frame->body = wanted.body;
  frame->fallible_body = wanted.fallible_body;
  frame->destroy = wanted.destroy;
  frame->copy_on_heap = heap_copy != nullptr;
  frame->argument = copy_in_frame          ? static_cast<void*>(frame + 1)
                    : heap_copy != nullptr ? heap_copy.release()
                                           : wanted.argument;
  if (wanted.argument_size > 0) {
    std::memcpy(frame->argument, wanted.argument, wanted.argument_size);
  }
  try {
    if (detail::submit_task(created.task, &description)) {
      detail::make_way(created.task);
    }
  } catch (...) {
    detail::release(created.task);
    throw;
  }
  if (future != nullptr) {
    *future = as_future(created.task);
  } else {
    detail::release(created.task);
  }
  return 0;
}

}  // namespace
}  // namespace dovetail::c

extern "C" {

int32_t dovetail_runtime_spawn(dovetail_runtime* runtime, const dovetail_task_description* description,
                               dovetail_future** future) {
  return dovetail::c::guarded(__func__, [&] {
    return dovetail::c::spawn(&dovetail::c::given(runtime, "runtime").runtime.core(), description, future);
  });
}

int32_t dovetail_task_spawn(const dovetail_task_description* description, dovetail_future** future) {
  return dovetail::c::guarded(__func__, [&] {
    dovetail::c::require_task();
    return dovetail::c::spawn(nullptr, description, future);
  });
}

}  // extern "C"
