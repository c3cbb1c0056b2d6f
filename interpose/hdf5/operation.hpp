// What the program asks of HDF5 at this moment. The connector sets it. HDF5 then calls the file driver below, which names its transfers
// after it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "staging/purpose.hpp"
#include "staging/transfers.hpp"

namespace dovetail::hdf5 {

using staging::ObjectName;
using staging::SharedName;
using staging::Transfers;

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
  bool bound = false;           ///< It is called in a task, which completes no earlier than its transfers.
  bool postponed = false;       ///< Its caller has been told long ago that it is done.
  std::vector<Promise> promises;
  std::shared_ptr<Transfers> transfers;  ///< Made with the first transfer.

  /// Whether its caller waits at its end for all that is written in its course, unless the file says otherwise.
  bool flushes() const noexcept;
  bool closes() const noexcept;
  /// The operation, and the object or its child.
  staging::Purpose purpose() const;
  /// "H5Dwrite /group/dataset". It takes the lock under which objects are named.
  std::string label() const EXCLUDES(staging::stage_lock);
  /// Where its transfers are counted; null: nothing needs the count.
  std::shared_ptr<Transfers> counted();
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
