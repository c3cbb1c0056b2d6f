// What tasks can do of a write to a compressed dataset, and what it takes to make the call later.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory_share.hpp"
#include "compression/layout.hpp"
#include "identifier.hpp"
#include "object.hpp"

namespace dovetail::hdf5 {

class DriverFile;

/// A dataset whose chunks tasks can compress.
struct CompressedDataset {
  std::shared_ptr<const compression::ChunkLayout> layout;
  Identifier type;             ///< Of its elements.
  DriverFile* file = nullptr;  ///< Lives as long as the dataset is open.
  bool lost = false;           ///< A call has failed that its caller took for done.
  std::size_t postponed = 0;   ///< Calls for it.
  Identifier space_to_be;      ///< What its space will be when it has been made, or extended; none: HDF5 knows it.
};

/// Null: they cannot, because it has no filter, others than shuffle before deflate, elements that lie elsewhere, or a file of another
/// driver.
std::shared_ptr<CompressedDataset> compressed_dataset(const Object& dataset, hid_t properties);
/// The same of one that is to be made in `file`, or null.
std::shared_ptr<CompressedDataset> compressed_dataset(hid_t creation, hid_t type, DriverFile* file);

/// A new identifier of its space, with all that is postponed.
hid_t space_of(const Object& dataset, hid_t properties);

/// The arguments of a write, as `H5Dwrite` has them.
struct WriteArguments {
  hid_t type = H5I_INVALID_HID;
  hid_t memory_space = H5S_ALL;
  hid_t file_space = H5S_ALL;
  hid_t properties = H5P_DEFAULT;
  const void* data = nullptr;
};

/// A valid write of a box of a dataset that covers whole chunks, all without conversion.
struct CompressedWrite {
  std::vector<hsize_t> start;  ///< Of the box, in each dimension.
  std::vector<hsize_t> shape;
  std::size_t bytes = 0;    ///< Of the box.
  std::size_t chunks = 0;   ///< That it covers wholly.
  bool contiguous = false;  ///< In memory.
};

/// None: HDF5 had better be called at once.
std::optional<CompressedWrite> compressed_write(const Object& dataset, const CompressedDataset& known,
                                                const WriteArguments& arguments);

/// What is written, copied if there is `memory` for it. Null: HDF5 cannot gather it.
std::shared_ptr<const compression::Box> box_of(const CompressedDataset& known, const CompressedWrite& write,
                                               const WriteArguments& arguments,
                                               std::optional<base::MemoryShare> memory);

}  // namespace dovetail::hdf5
