#include "base/descriptor.hpp"

#include <cstdio>

namespace dovetail::base {

void end_since_closed(const char* what) noexcept {
  std::fprintf(stderr,
               "dovetail: the program has closed a descriptor that it has not opened: %s of a runtime. Close only your "
               "own descriptors "
               "while a runtime exists, or end the runtime before\n",
               what);
  _exit(2);
}

}  // namespace dovetail::base
