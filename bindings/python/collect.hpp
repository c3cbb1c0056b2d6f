// From the arguments of a call to what the runtime has to know of them.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "call.hpp"
#include "dovetail/access.hpp"

namespace dovetail::python {

/// What one call uses.
struct Uses {
  std::vector<Access> accesses;
  /// Futures of tasks that are no siblings of the new one, so that no region orders the two.
  std::vector<FutureBase> elsewhere;
  std::vector<std::string> outputs;  ///< Paths of files that the task writes.
  bool futures = false;              ///< There is a future among the arguments.
};

/// Adds what `object`, and what is in it if it is a container (`containers.hpp`), stands for. `domain` is the task whose child the new
/// task will be. `name` is what errors call it. Throws nanobind's exceptions.
void collect(PyObject* object, Direction direction, const detail::Task* domain, const char* name, Uses& uses);
/// All arguments of a call.
void collect_arguments(const Signature& signature, PyObject* arguments, PyObject* keywords, const detail::Task* domain,
                       Uses& uses);

/// The access by which a task gives its result.
Access result_access(const Call& call) noexcept;

}  // namespace dovetail::python
