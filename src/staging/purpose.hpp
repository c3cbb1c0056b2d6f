// What a transfer is for, in words that a user knows.
#pragma once

#include <memory>
#include <string>

#include "staging/stage_lock.hpp"

namespace dovetail::staging {

/// Path of an object, shared by all that name it: an object that is made without a name may get one later. Guarded by the lock of the
/// `Stage` where threads other than the program's are concerned.
struct ObjectName {
  std::string path;  ///< Empty: none.
};
using SharedName = std::shared_ptr<ObjectName>;

struct Purpose {
  const char* call = "";  ///< The function that the program called.
  SharedName object;      ///< What it is about, or null.

  /// "H5Dwrite /group/dataset".
  std::string text() const REQUIRES(stage_lock) {
    if (object == nullptr) {
      return call;
    }
    return std::string(call) + (object->path.empty() ? " of an unnamed object" : ' ' + object->path);
  }
  bool operator==(const Purpose&) const = default;
};

}  // namespace dovetail::staging
