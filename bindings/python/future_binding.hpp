// The class `Future` of the module.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_future(nanobind::module_& module);

}  // namespace dovetail::python
