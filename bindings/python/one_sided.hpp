// One-sided communication: groups, segments, and what is done with them.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_one_sided(nanobind::module_& module);

}  // namespace dovetail::python
