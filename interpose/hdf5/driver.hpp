// The virtual file driver: what HDF5 calls to read and write the bytes of a file. It behaves as HDF5's own POSIX driver does, so that files
// are the same byte for byte. Only the moment differs at which bytes reach the file.
#pragma once

#include <hdf5.h>

#include <string>

namespace dovetail::hdf5 {

class DriverFile;

/// Puts the driver into a list of file access properties in place of HDF5's POSIX driver; any other driver is left alone.
void replace_posix_driver(hid_t access_properties);
/// The way back, for a list that the program sees.
void restore_posix_driver(hid_t access_properties);
/// The file behind what the driver gave as its handle; null if it is another driver's.
DriverFile* file_of_handle(const void* handle) noexcept;
/// While one of these lives, asking the driver for its handle waits for nothing.
class AskingForHandle {
 public:
  AskingForHandle() noexcept;
  AskingForHandle(const AskingForHandle&) = delete;
  AskingForHandle& operator=(const AskingForHandle&) = delete;
  ~AskingForHandle();
};
/// What failed in files that the calling thread closed since the last call, or nothing.
std::string take_failure_of_closed();
/// The driver is known to HDF5 no longer.
void forget_driver() noexcept;

}  // namespace dovetail::hdf5
