#include "call.hpp"

#include <algorithm>
#include <cerrno>

#include "base/mutex.hpp"
#include "counts.hpp"
#include "failure.hpp"
#include "limit.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace dovetail::python {
namespace {

// By task. Entries are made by bodies and removed when the task completes, which may be on a thread without the interpreter.
struct Running {
  base::Mutex mutex;
  std::unordered_map<const detail::Task*, Call*> calls GUARDED_BY(mutex);
  std::vector<IncompleteFile> incomplete GUARDED_BY(mutex);
};

// A program that fails again and again must not fill the memory with it.
constexpr std::size_t most_incomplete = 1000;

void note_incomplete(Running& all, const Call& call) REQUIRES(all.mutex) {
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

}  // namespace

Call::Call() : token(new_token()) {}

bool Call::cancel() noexcept {
  Stage expected = Stage::waiting;
  return stage.compare_exchange_strong(expected, Stage::cancelled) || expected == Stage::cancelled;
}

void Call::postpone() noexcept {
  Stage expected = Stage::begun;
  stage.compare_exchange_strong(expected, Stage::waiting);
}

bool Call::begin_postponed(bool task_is_cancelled) noexcept {
  Stage expected = Stage::waiting;
  if (task_is_cancelled) {
    // One that was sent before, to a process that has died, has begun.
    return stage.load() == Stage::begun;
  }
  return stage.compare_exchange_strong(expected, Stage::begun) || expected == Stage::begun;
}

void Callbacks::call() {
  const std::vector<Callback> due = std::exchange(waiting_, {});
  for (const Callback& callback : due) {
    call_back(callback.function.get(), callback.future.get());
  }
}

void Call::begun() {
  Stage expected = Stage::waiting;
  if (!stage.compare_exchange_strong(expected, Stage::begun) && expected == Stage::cancelled) {
    throw IoError(ECANCELED, "the start", signature->label, 0, 0);
  }
  if (task == nullptr) {
    signature->counts->running.fetch_add(1, std::memory_order_relaxed);
  }
  task = tasking::current_task();
  Running& all = running();
  const base::LockGuard lock(all.mutex);
  all.calls[task] = this;
}

void Call::completed() noexcept {
  drop(arguments.release());
  drop(keywords.release());
  if (has_place) {
    signature->limit->leave();
  }
  Counts& counts = *signature->counts;
  if (task != nullptr) {
    counts.running.fetch_sub(1, std::memory_order_relaxed);
    Running& all = running();
    const base::LockGuard lock(all.mutex);
    all.calls.erase(task);
    if (!result) {
      note_incomplete(all, *this);
    }
  }
  counts.completed.fetch_add(1, std::memory_order_relaxed);
  if (!result) {
    counts.failed.fetch_add(1, std::memory_order_relaxed);
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
    const base::LockGuard lock(all.mutex);
    if (const auto found = all.calls.find(task); found != all.calls.end()) {
      found->second->retain();
      call = CallReference(found->second);
    }
  }
  return call.get() == nullptr ? Origin{} : origin_of(*call);
}

void for_each_running(const std::function<void(const Call&)>& visit) {
  std::vector<CallReference> calls;
  {
    Running& all = running();
    const base::LockGuard lock(all.mutex);
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
  const base::LockGuard lock(all.mutex);
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
  const base::LockGuard lock(all.mutex);
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
