// An inbox as an object of Python.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_inbox(nanobind::module_& module);

}  // namespace dovetail::python
