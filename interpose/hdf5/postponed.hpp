// Calls that the program has made and HDF5 has yet to see. They are writes to compressed datasets, while tasks compress their chunks, and
// later calls for such datasets: more of them made, extended, written, closed. The next call of the program that could notice makes them
// first, in order, in its own thread.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "compressed_write.hpp"
#include "compression/chunk.hpp"
#include "identifier.hpp"
#include "object.hpp"

namespace dovetail::hdf5 {

/// The arguments of a creation, as `H5Dcreate` has them.
struct CreateArguments {
  hid_t links = H5P_DEFAULT;
  hid_t type = H5I_INVALID_HID;
  hid_t space = H5I_INVALID_HID;
  hid_t creation = H5P_DEFAULT;
  hid_t access = H5P_DEFAULT;
  hid_t properties = H5P_DEFAULT;
};

/// The caller of each function holds HDF5's lock.
class Postponed {
 public:
  static Postponed& instance();

  /// What HDF5 is to answer for the write, if tasks compress its chunks; otherwise nothing has been done. `operation`'s transfers end
  /// when the write has been made and has reached the file.
  std::optional<herr_t> write(Object& dataset, const WriteArguments& arguments, Operation& operation);
  /// A dataset that will be made behind what is postponed. Null: nothing is, or HDF5 had better be asked.
  Object* create(const Object& parent, const H5VL_loc_params_t& place, const char* name,
                 const CreateArguments& arguments);
  /// Whether a dataset will be made as large behind what is postponed. False: nothing is, or HDF5 had better be asked.
  bool extend(Object& dataset, const hsize_t* size, hid_t properties);
  /// Takes over the handle of a dataset or a group, to be closed by `under` behind what is postponed. False: nothing is, or the close
  /// might be the one that closes the file.
  bool close(Object& object, H5I_type_t kind, herr_t (*under)(void*, hid_t, hid_t, void**));
  /// Makes all calls.
  void make_all() noexcept;
  /// Makes those whose chunks are compressed within `nanoseconds`. Whether it was all.
  bool make_within(std::uint64_t nanoseconds) noexcept;

 private:
  struct Pending {
    Object* object = nullptr;
    const char* name = "";  // of the function of HDF5
    std::function<herr_t()> make;
    std::vector<std::shared_ptr<compression::Chunk>> chunks{};  // that it needs
    std::shared_ptr<Transfers> transfers{};                     // which are told its end
    std::size_t room = 0;                                       // promised for it in its file
    bool last = false;                                          // the handle goes with it
  };
  void push(Pending call);
  bool next_is_ready(std::uint64_t nanoseconds) const noexcept;
  static void make(Pending& call) noexcept;

  std::deque<Pending> calls_;
  std::unordered_set<std::string> names_;  // of what is to be made, and perhaps was already
  bool makes_them_ = false;
};

}  // namespace dovetail::hdf5
