// What the user is told.
#pragma once

#include <string>

namespace dovetail::interpose::staged {

/// At the start: where what is told goes.
void find_standard_error() noexcept;

/// "dovetail: " and the sentence, on standard error. Leaves errno.
void tell(const std::string& sentence) noexcept;

}  // namespace dovetail::interpose::staged
