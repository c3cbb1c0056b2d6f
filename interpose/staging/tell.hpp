// What the user is told.
#pragma once

#include <string>

namespace dovetail::interpose::staged {

/// "dovetail: " and the sentence, on standard error. Leaves errno.
void tell(const std::string& sentence) noexcept;

}  // namespace dovetail::interpose::staged
