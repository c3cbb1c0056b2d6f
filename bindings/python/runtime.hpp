// The runtime that Python's tasks run in, and spawning them.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail {
class Runtime;
}

namespace dovetail::python {

/// The runtime that new tasks belong to; starts one if there is none. The caller holds the interpreter.
Runtime& current_or_default_runtime();

void bind_runtime(nanobind::module_& module);

}  // namespace dovetail::python
