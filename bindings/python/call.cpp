#include "call.hpp"

#include "ending.hpp"
#include "failure.hpp"
#include "resolve.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

// The interpreter for as long as a body runs, pauses included.
class Entered {
 public:
  Entered() { enter_body(); }
  ~Entered() { leave_body(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
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

Call::Call() : token(new_token()) {}

bool Call::when_completed(std::function<void()> tell) {
  std::lock_guard lock(mutex_);
  if (completed_) {
    return false;
  }
  tells_.push_back(std::move(tell));
  return true;
}

void Call::completed() noexcept {
  drop(arguments.release());
  drop(keywords.release());
  std::vector<std::function<void()>> tells;
  {
    std::lock_guard lock(mutex_);
    completed_ = true;
    tells.swap(tells_);
  }
  for (const auto& tell : tells) {
    tell();
  }
}

void Body::operator()() {
  Call& call = *call_;
  const Entered entered;
  drop_deferred();
  Held arguments;
  Held keywords;
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
  if (!result) {
    throw_python_error();
  }
  if (!call.signature->deferred) {
    call.result = std::move(result);
  }
}

std::uint64_t new_token() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dovetail::python
