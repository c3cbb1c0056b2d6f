// A function of a library that is loaded at run time.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace dovetail::comm::rma {

/// Sets `function` to the one of this name. `whose`: the library, for users. @throws std::runtime_error if the library does not have it
template <class Function>
void find_function(void* library, const char* whose, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw std::runtime_error(std::string(whose) + " has no function " + name);
  }
}

}  // namespace dovetail::comm::rma
