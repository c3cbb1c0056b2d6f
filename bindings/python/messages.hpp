// Requests of mpi4py as parts of tasks.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_messages(nanobind::module_& module);

}  // namespace dovetail::python
