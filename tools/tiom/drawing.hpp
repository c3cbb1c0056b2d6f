/// @file
/// The maps of a sweep, drawn by the script that is installed beside this program.
#pragma once

#include <string>

namespace dovetail::tiom {

/// Draws the maps of the sweep in `folder`. Where Python or a package of it is missing, standard error says how to draw them later. The results
/// are complete without them.
void draw_maps(const std::string& folder);

}  // namespace dovetail::tiom
