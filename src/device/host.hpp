// The name of this machine, which tells apart what is remembered in a home folder that several share.
#pragma once

#include <string>

namespace dovetail::device {

std::string host();

}  // namespace dovetail::device
