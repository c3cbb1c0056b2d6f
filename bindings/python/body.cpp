#include "body.hpp"

#include <Python.h>

#include <atomic>
#include <utility>

#include "attempt.hpp"
#include "blocking_bodies.hpp"
#include "computing_bodies.hpp"
#include "counts.hpp"
#include "ending.hpp"
#include "failure.hpp"
#include "resolve.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

// The interpreter for as long as a body runs, pauses included.
class Entered {
 public:
  explicit Entered(Call& call) : call_(call) {
    enter_body();
    call.thread_state_id = PyThreadState_Get()->thread_id;
  }
  ~Entered() {
    call_.thread_state_id = 0;
    leave_body();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Call& call_;
};

Held with_ending(const CallReference& call, PyObject* arguments) {
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  Held longer = Held::adopt(PyTuple_New(count + 1));
  if (!longer) {
    throw_python_error();
  }
  PyTuple_SET_ITEM(longer.get(), 0, make_ending(call).release());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(longer.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
  }
  return longer;
}

}  // namespace

Body::Body(CallReference call) noexcept : call_(std::move(call)) {
  call_->signature->counts->made.fetch_add(1, std::memory_order_relaxed);
}

void Body::operator()() {
  Call& call = *call_;
  wait_for_attempt(call);
  const Entered entered(call);
  const BlockingWatch watch(call);
  const ComputingBody computing(call.signature->runs_on_workers());
  call.begun();
  drop_deferred();
  try {
    run(call);
  } catch (const PythonError& error) {
    attempt_failed(call, tasking::current_task(), error.exception());
    // Known only here: what is thrown on the way knows of no task.
    throw PythonError(Held::share(error.exception()), error.what(), origin_of(call));
  }
}

void Body::run(Call& call) {
  Held arguments;
  Held keywords;
  ++call.attempt;
  const bool last = call.attempts_left == 0;
  if (call.attempts_left > 0) {
    --call.attempts_left;
  }
  if (call.futures_in_arguments) {
    arguments = resolve(call.arguments.get());
    keywords = call.keywords ? resolve(call.keywords.get()) : Held();
  } else if (last) {
    arguments = std::move(call.arguments);
    keywords = std::move(call.keywords);
  } else {
    arguments = Held::share(call.arguments.get());
    keywords = Held::share(call.keywords.get());
  }
  if (call.signature->deferred) {
    arguments = with_ending(call_, arguments.get());
  }
  Held result = Held::adopt(PyObject_Call(call.signature->function.get(), arguments.get(), keywords.get()));
  if (!result && call.signature->deferred) {
    // Python completes the task when it frees the ending. The traceback of this failure still refers to it, so it is ended here.
    fail_ending(PyTuple_GET_ITEM(arguments.get(), 0));
    return;
  }
  if (!result) {
    throw_python_error();
  }
  if (!call.signature->deferred) {
    require_values(call, result.get());
    call.result = std::move(result);
  }
}

}  // namespace dovetail::python
