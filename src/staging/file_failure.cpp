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
  const std::string place = remedy.empty() ? " at offset " + std::to_string(offset) + " of " : " ";
  return std::string("cannot ") + operation + place + path + ": " +
         (why.empty() ? std::generic_category().message(error) : why) + " (errno " + std::to_string(error) + "); " +
         (remedy.empty() ? advice_for(error) : remedy);
}

}  // namespace dovetail::staging
