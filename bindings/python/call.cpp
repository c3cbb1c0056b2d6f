#include "call.hpp"

#include <algorithm>

#include "ending.hpp"
#include "failure.hpp"
#include "resolve.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

// By task. Entries are made by bodies and removed when the task completes, which may be on a thread without the interpreter.
struct Running {
  std::mutex mutex;
  std::unordered_map<const detail::Task*, Call*> calls;
  std::vector<IncompleteFile> incomplete;
};

// A program that fails again and again must not fill the memory with it.
constexpr std::size_t most_incomplete = 1000;

void note_incomplete(Running& all, const Call& call) {
  for (const std::string& path : call.outputs) {
    if (all.incomplete.size() < most_incomplete) {
      all.incomplete.push_back({call.signature->label, path});
    }
  }
}

Running& running() {
  static auto* const instance = new Running;
  return *instance;
}

// The interpreter for as long as a body runs, pauses included.
class Entered {
 public:
  explicit Entered(Call& call) : call_(call) {
    enter_body();
    call.thread_state_id = PyThreadState_Get()->thread_id;
    if (call.task == nullptr) {
      counts_of(call.signature->io).running.fetch_add(1, std::memory_order_relaxed);
    }
    call.task = tasking::current_task();
    Running& all = running();
    std::lock_guard lock(all.mutex);
    all.calls[call.task] = &call;
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
  Counts& counts = counts_of(signature->io);
  counts.completed.fetch_add(1, std::memory_order_relaxed);
  if (!result) {
    counts.failed.fetch_add(1, std::memory_order_relaxed);
  }
  if (task != nullptr) {
    counts.running.fetch_sub(1, std::memory_order_relaxed);
    Running& all = running();
    std::lock_guard lock(all.mutex);
    all.calls.erase(task);
    if (!result) {
      note_incomplete(all, *this);
    }
  }
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

Origin origin_of(const Call& call) {
  Origin origin{.label = call.signature->label, .made_at = {}};
  if (call.made_in) {
    auto* const code = reinterpret_cast<PyCodeObject*>(call.made_in.get());
    const char* const file = PyUnicode_AsUTF8(code->co_filename);
    const char* const function = file == nullptr ? nullptr : PyUnicode_AsUTF8(code->co_qualname);
    if (function == nullptr) {
      PyErr_Clear();
      return origin;
    }
    origin.made_at = std::string("File \"") + file + "\", line " +
                     std::to_string(PyCode_Addr2Line(code, call.made_at)) + ", in " + function;
  }
  return origin;
}

Origin current_origin() {
  const detail::Task* const task = tasking::current_task();
  CallReference call;
  if (task != nullptr) {
    Running& all = running();
    std::lock_guard lock(all.mutex);
    if (const auto found = all.calls.find(task); found != all.calls.end()) {
      found->second->retain();
      call = CallReference(found->second);
    }
  }
  return call.get() == nullptr ? Origin{} : origin_of(*call);
}

Counts& counts_of(bool io) noexcept {
  static Counts counts[2];
  return counts[io ? 1 : 0];
}

Body::Body(CallReference call) noexcept : call_(std::move(call)) {
  counts_of(call_->signature->io).made.fetch_add(1, std::memory_order_relaxed);
}

void Body::operator()() {
  Call& call = *call_;
  const Entered entered(call);
  drop_deferred();
  try {
    run(call);
  } catch (const PythonError& error) {
    // Known only here: what is thrown on the way knows of no task.
    throw PythonError(Held::share(error.exception()), error.what(), origin_of(call));
  }
}

void Body::run(Call& call) {
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
  if (!result && call.signature->deferred) {
    // The traceback keeps the ending alive, so that nobody else would end the task.
    fail_ending(PyTuple_GET_ITEM(arguments.get(), 0));
    return;
  }
  if (!result) {
    throw_python_error();
  }
  if (!call.signature->deferred) {
    call.result = std::move(result);
  }
}

void for_each_running(const std::function<void(const Call&)>& visit) {
  std::vector<CallReference> calls;
  {
    Running& all = running();
    std::lock_guard lock(all.mutex);
    for (const auto& [task, call] : all.calls) {
      call->retain();
      calls.emplace_back(call);
    }
  }
  for (const CallReference& call : calls) {
    visit(*call);
  }
}

std::vector<IncompleteFile> take_incomplete() {
  Running& all = running();
  std::lock_guard lock(all.mutex);
  for (const auto& [task, call] : all.calls) {
    note_incomplete(all, *call);
  }
  return std::exchange(all.incomplete, {});
}

void note_output(const std::string& path) {
  const detail::Task* const task = tasking::current_task();
  if (task == nullptr) {
    return;
  }
  Running& all = running();
  std::lock_guard lock(all.mutex);
  const auto found = all.calls.find(task);
  if (found == all.calls.end()) {
    return;
  }
  std::vector<std::string>& outputs = found->second->outputs;
  if (std::find(outputs.begin(), outputs.end(), path) == outputs.end()) {
    outputs.push_back(path);
  }
}

std::uint64_t new_token() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dovetail::python
