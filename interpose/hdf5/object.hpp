// What the connector hands to HDF5 in place of the objects of the connector below it.
#pragma once

#include <hdf5.h>

#include <memory>
#include <string>

#include "operation.hpp"

namespace dovetail::hdf5 {

class DriverFile;
struct CompressedDataset;

struct Object {
  /// Null if HDF5 has yet to make it, or could not, and once its close has been reported as failed; the next close ends it.
  void* under;
  hid_t connector;  ///< The connector below; this holds one reference.
  SharedName name;
  /// Of a dataset that is written: null, unless tasks can compress its chunks.
  std::shared_ptr<CompressedDataset> compressed{};
  bool compression_known = false;
  bool to_be_made = false;  ///< Its creation is postponed.
  /// Of a file as it was opened: null, if another driver has it. It may have been closed since.
  const DriverFile* file = nullptr;
};

/// Null for null.
/// An empty path stands for an object of which no name is known.
Object* wrap(void* under, hid_t connector, std::string path);
/// A dataset of which the creation is postponed.
Object* to_be_made(hid_t connector, std::string path);
/// Drops the reference to the connector below as well.
void unwrap(Object* object) noexcept;

/// The object as it is, perhaps to be made.
inline Object& handle_of(void* object) { return *static_cast<Object*>(object); }
}  // namespace dovetail::hdf5
