#include "staging/file_failure.hpp"

#include <cerrno>
#include <system_error>

namespace dovetail::staging {
namespace {

const char* advice_for(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space on its file system and try again";
    case EIO:
      return "look at the kernel's log for the device and try again";
    case EBADMSG:
      return "keep the folder, and look at the kernel's log for the device";
    case EBUSY:
      return "wait until the other process has ended";
    default:
      return "mend that and try again";
  }
}

}  // namespace

std::string FileFailure::text() const {
  if (error == 0) {
    return {};
  }
  return std::string("cannot ") + operation + " at offset " + std::to_string(offset) + " of " + path + ": " +
         (why.empty() ? std::generic_category().message(error) : why) + " (errno " + std::to_string(error) + "); " +
         advice_for(error);
}

}  // namespace dovetail::staging
