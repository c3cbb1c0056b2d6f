// The runtime that Python's tasks run in, and spawning them.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_runtime(nanobind::module_& module);

}  // namespace dovetail::python
