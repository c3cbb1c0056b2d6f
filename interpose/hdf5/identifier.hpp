// An identifier of HDF5 that is ours to close.
#pragma once

#include <hdf5.h>

#include <memory>
#include <utility>

namespace dovetail::hdf5 {

class Identifier {
 public:
  Identifier() = default;
  /// `close` is HDF5's function for its kind. A negative value is none.
  Identifier(hid_t value, herr_t (*close)(hid_t)) noexcept : value_(value), close_(close) {}
  Identifier(Identifier&& other) noexcept
      : value_(std::exchange(other.value_, H5I_INVALID_HID)), close_(other.close_) {}
  Identifier& operator=(Identifier&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Identifier() {
    if (value_ >= 0 && close_ != nullptr) {
      close_(value_);
    }
  }
  hid_t get() const noexcept { return value_; }
  bool valid() const noexcept { return value_ >= 0; }

 private:
  hid_t value_ = H5I_INVALID_HID;
  herr_t (*close_)(hid_t) = nullptr;
};

using SharedIdentifier = std::shared_ptr<const Identifier>;

}  // namespace dovetail::hdf5
