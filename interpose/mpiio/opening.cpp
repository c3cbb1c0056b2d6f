#include "opening.hpp"

#include <vector>

#include "functions.hpp"

namespace dovetail::interpose::mpiio {

GivenHints hints_of(MPI_Info info) {
  GivenHints given;
  if (info == handles().no_info) {
    return given;
  }
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  for (const char* const name : read_names()) {
    int there = 0;
    if (pmpi().Info_get(info, name, MPI_MAX_INFO_VAL, value.data(), &there) == MPI_SUCCESS && there != 0) {
      given[name] = value.data();
    }
  }
  return given;
}

LibraryInfo::LibraryInfo(MPI_Info given, const FileRule* rule) : info_(given) {
  bool differs = false;
  for (const auto& [name, value] : hints_of(given)) {
    differs = differs || is_own_hint(name);
  }
  for (const auto& [name, value] : rule != nullptr ? rule->hints : GivenHints{}) {
    differs = differs || !is_own_hint(name);
  }
  if (!differs) {
    return;
  }
  own_ = true;
  if (given == handles().no_info) {
    pmpi().Info_create(&info_);
  } else {
    pmpi().Info_dup(given, &info_);
  }
  for (const auto& [name, value] : hints_of(info_)) {
    if (is_own_hint(name)) {
      pmpi().Info_delete(info_, name.c_str());
    }
  }
  for (const auto& [name, value] : rule != nullptr ? rule->hints : GivenHints{}) {
    if (!is_own_hint(name)) {
      pmpi().Info_set(info_, name.c_str(), value.c_str());
    }
  }
}

LibraryInfo::~LibraryInfo() {
  if (own_) {
    pmpi().Info_free(&info_);
  }
}

}  // namespace dovetail::interpose::mpiio
