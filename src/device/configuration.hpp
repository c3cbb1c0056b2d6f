// dovetail.toml: the devices that the user describes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dovetail/device.hpp"

namespace dovetail::device {

/// The file that is meant by this setting, absolute; empty if there is none. See dovetail/device.hpp for where it is looked for.
/// A file that is not named is the user's own or root's, and a regular one; in the current folder it is no symbolic link. Anything
/// else found there is ignored, with a line on standard error.
/// @throws std::invalid_argument if a file that is named does not exist.
std::string configuration_file(const std::string& given);

/// The devices in that file, in its order; paths are absolute and without symbolic links.
/// @throws std::invalid_argument naming file, line and what is wrong.
std::vector<StorageDevice> read_configuration(const std::string& file);
/// The same of its text; `file` is for messages and for relative paths.
std::vector<StorageDevice> parse_configuration(const std::string& file, std::string_view text);

}  // namespace dovetail::device
