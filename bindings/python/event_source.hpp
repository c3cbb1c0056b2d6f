// Sources of events that are written in Python.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_event_source(nanobind::module_& module);

}  // namespace dovetail::python
