// Calls that the program has made and HDF5 has yet to see: writes to compressed datasets, while tasks compress their chunks, and the
// closes of datasets behind them. The next call of the program that could notice makes them first, in order, in its own thread.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "compression/compressed_write.hpp"
#include "object.hpp"

namespace dovetail::hdf5 {

/// Only for who holds HDF5's lock.
class Postponed {
 public:
  static Postponed& instance();

  bool empty() const noexcept { return calls_.empty(); }
  /// What HDF5 is to answer for the write, if tasks compress its chunks; otherwise nothing has been done. `operation`'s transfers end
  /// when the write has been made and has reached the file.
  std::optional<herr_t> write(Object& dataset, const WriteArguments& arguments, Operation& operation);
  /// Takes over the handle, to be closed behind what is postponed. False: nothing is.
  bool close(Object& dataset);
  /// Makes all calls.
  void settle() noexcept;
  /// Makes those whose chunks are compressed within so many nanoseconds. Whether it was all.
  bool settle_within(std::uint64_t nanoseconds) noexcept;

 private:
  struct Pending {
    Object* dataset = nullptr;
    // None of these: it is a close.
    std::shared_ptr<const Box> box;
    std::vector<std::shared_ptr<Chunk>> chunks;
    hid_t file_space = H5S_ALL;
    hid_t properties = H5P_DEFAULT;
    std::shared_ptr<Transfers> transfers;
  };
  static std::optional<herr_t> write_at_once(Object& dataset, const CompressedWrite& write,
                                             const WriteArguments& arguments);
  static void make(Pending& call) noexcept;
  static void make_write(const Pending& call);
  static void make_close(Object* dataset);

  std::deque<Pending> calls_;
  bool settling_ = false;
};

}  // namespace dovetail::hdf5
