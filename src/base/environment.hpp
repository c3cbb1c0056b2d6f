// The variables of the environment that any part of Dovetail asks for, in one list, so that a misspelt one can be told.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::base {

/// Whether some part of Dovetail, its doors, tools, tests or builds asks for a variable of this name.
bool is_known_variable(std::string_view name) noexcept;
/// The known name that was perhaps meant; empty if none is near.
std::string_view known_variable_near(std::string_view name);
/// What is to be said of a variable that no code asks for, in one sentence.
std::string describe_unknown_variable(std::string_view name);
/// Tells standard error of each variable that begins with DOVETAIL_ and that no code asks for. Once in a process; later calls do nothing. Not
/// while another thread changes the environment.
void tell_of_unknown_variables();

}  // namespace dovetail::base
