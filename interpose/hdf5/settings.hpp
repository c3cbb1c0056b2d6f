// What the environment says about the connector. Read once; where it makes no sense HDF5 runs natively.
#pragma once

#include <cstddef>
#include <optional>

namespace dovetail::hdf5 {

struct Settings {
  std::size_t buffer_bytes =
      0;  ///< DOVETAIL_HDF5_BUFFER: memory for copies of what is still to be written, and for read-ahead.
  bool flush_waits = true;  ///< DOVETAIL_HDF5_FLUSH=background: H5Fflush returns before the bytes are in the file.
  bool close_waits = true;  ///< DOVETAIL_HDF5_CLOSE=background: the last H5Fclose returns before that.
  bool read_ahead = true;   ///< DOVETAIL_HDF5_READ_AHEAD=0: reads fetch what they are asked for.
  /// DOVETAIL_HDF5_COMPRESSION_THREADS: that compress chunks in the background; 0: the program's own threads do.
  unsigned compression_threads = 0;
  bool report = false;  ///< DOVETAIL_HDF5_REPORT=1.
  /// DOVETAIL_HDF5_EXIT_STATUS: of a program of which a write failed; 0: its own. None: 1 if its own would be 0.
  std::optional<int> failure_status;
};

const Settings& settings();

/// What is wrong with a setting, as a sentence that names it; null if nothing is. Then HDF5 runs natively.
const char* refused_settings();

}  // namespace dovetail::hdf5
