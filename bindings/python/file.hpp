// What `dovetail.open` returns.
#pragma once

#include <Python.h>

#include <string>

#include "dovetail/file.hpp"

namespace dovetail::python {

/// An open file as Python sees it.
class OpenedFile {
 public:
  OpenedFile(const std::string& path, int flags, unsigned mode, const std::string& direct, const std::string& urgency,
             bool staged, const std::string& tier);
  /// All bytes of the file.
  Region region() const { return {file_.space(), 0, ~std::uint64_t{0} / 2}; }
  File& file() noexcept { return file_; }

 private:
  File file_;
};

/// The Python type of open files, once it is bound (file_binding.hpp). It has no subtypes.
PyTypeObject* file_type() noexcept;

}  // namespace dovetail::python
