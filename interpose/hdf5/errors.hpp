// Texts on HDF5's own stack of errors.
#pragma once

#include <hdf5.h>

#include <string>

namespace dovetail::hdf5 {

enum class Kind { read, write, open, close, lock, argument };

/// Adds `text` to the current stack.
void push_error(Kind kind, const char* function, const std::string& text) noexcept;
/// Adds `text` to a stack.
void push_error(hid_t stack, Kind kind, const char* function, const std::string& text) noexcept;

/// What HDF5 has noted so far survives the clean-up in between.
class KeptErrors {
 public:
  KeptErrors() noexcept : stack_(H5Eget_current_stack()) {}
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;
  ~KeptErrors() { H5Eset_current_stack(stack_); }

 private:
  hid_t stack_;
};

}  // namespace dovetail::hdf5
