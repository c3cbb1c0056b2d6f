#include "errors.hpp"

namespace dovetail::hdf5 {
namespace {

hid_t minor_of(Kind kind) {
  switch (kind) {
    case Kind::read:
      return H5E_READERROR;
    case Kind::write:
      return H5E_WRITEERROR;
    case Kind::open:
      return H5E_CANTOPENFILE;
    case Kind::lock:
      return H5E_CANTLOCKFILE;
    case Kind::argument:
      break;
  }
  return H5E_BADVALUE;
}

}  // namespace

void push_error(Kind kind, const char* function, const std::string& text) noexcept {
  push_error(H5E_DEFAULT, kind, function, text);
}

void push_error(hid_t stack, Kind kind, const char* function, const std::string& text) noexcept {
  const hid_t major = kind == Kind::argument ? H5E_ARGS : H5E_VFL;
  H5Epush2(stack, "dovetail", function, 0, H5E_ERR_CLS, major, minor_of(kind), "%s", text.c_str());
}

void push_exception(const std::exception& thrown) noexcept {
  H5Epush2(H5E_DEFAULT, "dovetail", "callback", 0, H5E_ERR_CLS, H5E_RESOURCE, H5E_CANTALLOC, "%s", thrown.what());
}

std::string innermost_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* found) -> herr_t {
        if (depth == 0 && error->desc != nullptr) {
          *static_cast<std::string*>(found) = error->desc;
        }
        return 0;
      },
      &text);
  return text;
}

QuietErrors::QuietErrors() noexcept {
  unsigned second = 0;
  quiet_ = H5Eauto_is_v2(H5E_DEFAULT, &second) >= 0 && second != 0 &&
           H5Eget_auto2(H5E_DEFAULT, &printer_, &of_printer_) >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
}

QuietErrors::~QuietErrors() {
  if (quiet_) {
    H5Eset_auto2(H5E_DEFAULT, printer_, of_printer_);
  }
}

}  // namespace dovetail::hdf5
