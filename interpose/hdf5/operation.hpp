// What the program asks of HDF5 at this moment: the connector says it, and the file driver below, which HDF5 calls in the course of
// it, names its transfers after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dovetail::hdf5 {

/// The transfers of one explicitly asynchronous operation. Guarded by the mutex of `Background`.
struct Transfers {
  unsigned outstanding = 0;
  std::string error;        ///< Text of the first failure.
  std::uint64_t begun = 0;  ///< Nanoseconds of the steady clock.
  std::uint64_t ended = 0;
  std::vector<std::function<void(bool succeeded)>> when_done;

  /// One of them has, at `time`; what failed in its file, if anything did. The last one appends to `tell` what is to be called
  /// without the lock.
  void one_ended(const std::string& failure, std::uint64_t time, std::vector<std::function<void()>>& tell);
};

/// Path of an object of a file, shared by all who speak of it: what is made without a name may get one later. Guarded by the mutex of
/// `Background` where threads other than the program's are concerned.
struct ObjectName {
  std::string path;  ///< Empty: none.
};
using SharedName = std::shared_ptr<ObjectName>;

/// "H5Dwrite /group/dataset".
std::string described(const char* call, const ObjectName* name);

/// The path of what is called `name` in `parent`; nothing for no name.
std::string path_below(const ObjectName* parent, const char* name);

/// Memory that the caller leaves alone until the operation has completed.
struct Promise {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

struct Operation {
  const char* call = "HDF5";    ///< Name of the function of HDF5.
  SharedName object;            ///< The object it is about, or null.
  const char* child = nullptr;  ///< Name below the object, or null.
  bool asynchronous = false;    ///< Its caller wants to be told when its transfers have ended.
  bool postponed = false;       ///< Its caller has been told long ago that it is done.
  std::vector<Promise> promises;
  std::shared_ptr<Transfers> transfers;  ///< Made with the first transfer.

  /// Whether its caller waits at its end for all that is written in its course.
  bool flushes() const noexcept;
  /// What it is about: the object, or its child.
  SharedName subject() const;
  std::string label() const { return described(call, subject().get()); }
  /// Where its transfers are counted.
  const std::shared_ptr<Transfers>& begin_transfer();
  bool promised(const void* data, std::size_t bytes) const noexcept;
};

/// The operation that the calling thread is in; there is always one.
Operation& current_operation() noexcept;

/// Makes an operation the current one for as long as this lives.
class Within {
 public:
  explicit Within(Operation& operation) noexcept;
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within();

 private:
  Operation* previous_;
};

}  // namespace dovetail::hdf5
