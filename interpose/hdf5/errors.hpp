// Texts on HDF5's own stack of errors.
#pragma once

#include <hdf5.h>

#include <exception>
#include <string>
#include <type_traits>

namespace dovetail::hdf5 {

enum class Kind { read, write, open, lock, argument };

/// Adds `text` to the current stack.
void push_error(Kind kind, const char* function, const std::string& text) noexcept;
/// Adds `text` to a stack.
void push_error(hid_t stack, Kind kind, const char* function, const std::string& text) noexcept;

/// Adds what was thrown to the current stack.
void push_exception(const std::exception& thrown) noexcept;

/// A callback as HDF5, which is written in C, can call it: an exception (there is no memory for a name, say) becomes its failure.
template <auto callback>
struct Guarded;
template <class Result, class... Arguments, Result (*callback)(Arguments...)>
struct Guarded<callback> {
  static Result call(Arguments... arguments) noexcept {
    try {
      return callback(arguments...);
    } catch (const std::exception& thrown) {
      push_exception(thrown);
      if constexpr (std::is_pointer_v<Result>) {
        return nullptr;
      } else {
        return -1;
      }
    }
  }
};
template <auto callback>
inline constexpr auto guarded = &Guarded<callback>::call;

/// What went wrong first, as the current stack has it; nothing if it is empty.
std::string innermost_error();

/// HDF5 prints no errors meanwhile.
class QuietErrors {
 public:
  QuietErrors() noexcept;
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
  ~QuietErrors();
  /// False: the program uses the interface of HDF5 1.6, which would not survive.
  bool quiet() const noexcept { return quiet_; }

 private:
  H5E_auto2_t printer_ = nullptr;
  void* of_printer_ = nullptr;
  bool quiet_;
};

/// What HDF5 has noted so far survives the clean-up in between. Nearly always this is nothing, and asking takes a tenth of what keeping an empty
/// stack does.
class KeptErrors {
 public:
  KeptErrors() noexcept : stack_(H5Eget_num(H5E_DEFAULT) != 0 ? H5Eget_current_stack() : H5I_INVALID_HID) {}
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;
  ~KeptErrors() {
    if (stack_ != H5I_INVALID_HID) {
      H5Eset_current_stack(stack_);
    } else {
      H5Eclear2(H5E_DEFAULT);
    }
  }

 private:
  hid_t stack_;
};

}  // namespace dovetail::hdf5
