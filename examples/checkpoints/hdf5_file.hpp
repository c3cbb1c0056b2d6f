// Parallel HDF5, as far as the programs of this folder need it. No object has a time stamp, so that two runs leave the same bytes.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "program.hpp"

namespace programs {

inline hid_t made(hid_t identifier) {
  check(identifier >= 0, "a call of HDF5");
  return identifier;
}

/// Open as long as it lives.
class Hdf5File {
 public:
  Hdf5File(const Job& job, const std::string& path, bool writes) {
    const hid_t access = made(H5Pcreate(H5P_FILE_ACCESS));
    check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, job.info) >= 0, "H5Pset_fapl_mpio");
    file_ = made(writes ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                        : H5Fopen(path.c_str(), H5F_ACC_RDONLY, access));
    H5Pclose(access);
    creation_ = made(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(creation_, false);
    collective_ = made(H5Pcreate(H5P_DATASET_XFER));
    H5Pset_dxpl_mpio(collective_, H5FD_MPIO_COLLECTIVE);
  }
  ~Hdf5File() {
    H5Pclose(collective_);
    H5Pclose(creation_);
    check(H5Fclose(file_) >= 0, "H5Fclose");
  }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  hid_t get() const noexcept { return file_; }
  /// For `write` and `read`; H5P_DEFAULT is independent.
  hid_t collective() const noexcept { return collective_; }

  /// `start` and `count`: this rank's part. `memory` is a data space that selects the same number of elements.
  void write(const char* name, hid_t type, const std::vector<hsize_t>& sizes, const std::vector<hsize_t>& start,
             const std::vector<hsize_t>& count, hid_t memory, const void* data, hid_t transfer) const {
    const hid_t space = made(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
    const hid_t set = made(H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation_, H5P_DEFAULT));
    select(space, start, count);
    check(H5Dwrite(set, type, memory, space, transfer, data) >= 0, "H5Dwrite");
    H5Dclose(set);
    H5Sclose(space);
  }
  void read(const char* name, hid_t type, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
            void* data, hid_t transfer) const {
    const hid_t set = made(H5Dopen2(file_, name, H5P_DEFAULT));
    const hid_t space = made(H5Dget_space(set));
    const hid_t memory = made(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
    select(space, start, count);
    check(H5Dread(set, type, memory, space, transfer, data) >= 0, "H5Dread");
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
  }
  void add_attribute(const char* name, double value) const {
    const hid_t space = made(H5Screate(H5S_SCALAR));
    const hid_t attribute = made(H5Acreate2(file_, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT));
    check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) >= 0, "H5Awrite");
    H5Aclose(attribute);
    H5Sclose(space);
  }

 private:
  static void select(hid_t space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count) {
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0,
          "H5Sselect_hyperslab");
  }

  hid_t file_ = -1;
  hid_t creation_ = -1;
  hid_t collective_ = -1;
};

}  // namespace programs
