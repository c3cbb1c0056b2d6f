#include <stdexcept>

#include "run.hpp"

namespace dovetail::tiom {

bool has_openmp() noexcept { return false; }
void run_openmp(RunState&) { throw std::runtime_error("this dovetail-tiom was built without OpenMP"); }

}  // namespace dovetail::tiom
