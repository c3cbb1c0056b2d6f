/// @file
/// The maps of a sweep, drawn by the script that is installed beside this program.
#pragma once

#include <string>

namespace dovetail::tiom {

/// Draws the maps of the sweep in `folder`. Where Python or matplotlib is missing, standard error tells how to do it later:
/// what was measured is complete without.
void draw_maps(const std::string& folder);

}  // namespace dovetail::tiom
