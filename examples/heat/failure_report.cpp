#include "failure_report.hpp"

#include <cerrno>
#include <exception>
#include <system_error>

namespace heat {
namespace {

std::string advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space there or choose another --directory";
    case EIO:
      return "the device reports an error: see the kernel's log, and choose another --directory";
    case EROFS:
    case EACCES:
    case EPERM:
      return "choose a --directory that may be written";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n)";
    case ENOMEM:
      return "raise the limit on locked memory (ulimit -l), or choose a smaller --size";
    default:
      return {};
  }
}

void descend(const std::exception_ptr& failure, RootCause& found);

void describe(const std::exception& failure, RootCause& found) {
  found.text = failure.what();
  if (const auto* task = dynamic_cast<const dovetail::TaskFailed*>(&failure)) {
    if (!task->cancelled() || found.label.empty()) {
      found.label = task->label();
    }
    descend(task->cause(), found);
  } else if (const auto* error = dynamic_cast<const std::system_error*>(&failure)) {
    found.advice = advice_for(error->code().value());
  }
}

// Failures follow one another as causes; the last one knows most.
void descend(const std::exception_ptr& failure, RootCause& found) {
  if (failure == nullptr) {
    return;
  }
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& cause) {
    describe(cause, found);
  } catch (...) {
    found.text = "something that is no std::exception was thrown";
  }
}

}  // namespace

RootCause root_cause(const std::exception& failure) {
  RootCause found;
  describe(failure, found);
  return found;
}

void drain(dovetail::Runtime& runtime) {
  while (true) {
    try {
      runtime.wait();
      return;
    } catch (const dovetail::TaskFailed&) {
      continue;
    }
  }
}

}  // namespace heat
