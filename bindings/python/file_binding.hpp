// The class `OpenFile` of the module, and `open_file`: arrays to and from files through the storage engines.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_file(nanobind::module_& module);

}  // namespace dovetail::python
