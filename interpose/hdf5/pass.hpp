// Callbacks that differ only in the function below that they end in.
#pragma once

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <hdf5.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "call.hpp"
#include "errors.hpp"

namespace dovetail::hdf5 {

/// Name of a function of HDF5, as an argument of a template.
struct Name {
  char text[32] = {};
  template <std::size_t length>
  constexpr Name(const char (&name)[length]) {  // NOLINT(google-explicit-constructor): written as a plain literal
    std::copy_n(name, length, text);
  }
};

template <Name name>
inline constexpr Name kept_name = name;

template <Name name, auto under>
struct Passed;

// get, specific and optional of an object
template <Name name, class Arguments, herr_t (*under)(void*, hid_t, Arguments*, hid_t, void**)>
struct Passed<name, under> {
  static herr_t callback(void* object, Arguments* arguments, hid_t transfer, void** request) {
    // A refresh may destroy the object on the way.
    const Object self = object_of(object);
    Call call(kept_name<name>.text, self, request);
    return call.ended(under(self.under, self.connector, arguments, transfer, call.request()));
  }
};

// the same of a place that is found from an object
template <Name name, class Arguments,
          herr_t (*under)(void*, const H5VL_loc_params_t*, hid_t, Arguments*, hid_t, void**)>
struct Passed<name, under> {
  static herr_t callback(void* object, const H5VL_loc_params_t* place, Arguments* arguments, hid_t transfer,
                         void** request) {
    const Object self = object_of(object);
    Call call(kept_name<name>.text, self, request);
    return call.ended(under(self.under, place, self.connector, arguments, transfer, call.request()));
  }
};

// create and open by name: the rest of the arguments ends with the place for the request
template <Name name, class... Rest, void* (*under)(void*, const H5VL_loc_params_t*, hid_t, const char*, Rest...)>
struct Passed<name, under> {
  static void* callback(void* parent, const H5VL_loc_params_t* place, const char* child, Rest... rest) {
    const Object& self = object_of(parent);
    void**& request = std::get<sizeof...(Rest) - 1>(std::tie(rest...));
    Call call(kept_name<name>.text, &self, child, self.connector, request);
    request = call.request();
    return wrap(call.ended(under(self.under, place, self.connector, child, rest...)), self.connector,
                path_below(self.name.get(), child));
  }
};

// close
template <Name name, herr_t (*under)(void*, hid_t, hid_t, void**)>
struct Passed<name, under> {
  static herr_t callback(void* object, hid_t transfer, void** request) {
    Object& self = object_of(object);
    if (self.under == nullptr) {
      unwrap(&self);
      return 0;
    }
    {
      Call call(kept_name<name>.text, self, request);
      if (call.ended(under(self.under, self.connector, transfer, call.request())) < 0) {
        return -1;
      }
      // HDF5 keeps the identifier of what fails to close, and closes it again at the end.
      if (!report_failure_of_closed(kept_name<name>.text)) {
        self.under = nullptr;
        return call.ended(-1);
      }
    }
    unwrap(&self);
    return 0;
  }
};

template <Name name, auto under>
inline constexpr auto passed = guarded<&Passed<name, under>::callback>;

}  // namespace dovetail::hdf5
