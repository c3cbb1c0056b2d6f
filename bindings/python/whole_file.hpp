// What `dovetail.read_file` does.
#pragma once

#include <Python.h>

#include <string>

#include "held.hpp"

namespace dovetail::python {

/// The bytes of the file at `path` as a Python object. The caller holds the interpreter; reading does without it, and may pause. Large files are read
/// into the object itself, small ones are copied.
/// @throws IoError, and PythonError where there is no memory for the object.
Held read_whole_file(const std::string& path);

}  // namespace dovetail::python
