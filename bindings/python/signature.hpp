// What Python says once about a function that it makes a task.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_signature(nanobind::module_& module);

}  // namespace dovetail::python
