// For `dovetail run --hdf5 --report`, which draws a run while HDF5 has not ended yet.
#include <exception>

#include "dovetail/trace.hpp"
#include "services.hpp"
#include "settings.hpp"

/// Waits for what is pending and writes what was recorded so far. Returns 0, or -1 if nothing was or the file cannot be written.
extern "C" int dovetail_hdf5_write_trace(const char* path) {
  using namespace dovetail::hdf5;
  try {
    services().drain(Cause::exit);
    dovetail::trace::write(path);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}
