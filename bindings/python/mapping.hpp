// A file in memory, mapped: what arrays that travel between processes lie on.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_mapping(nanobind::module_& module);

}  // namespace dovetail::python
