// The exit status of a program that ends as if all were well although tasks have failed.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_exit_status(nanobind::module_& module);

}  // namespace dovetail::python
