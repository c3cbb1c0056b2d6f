#include "file.hpp"

#include <nanobind/nanobind.h>

#include <stdexcept>

namespace dovetail::python {
namespace {

Direct direct_of(const std::string& name) {
  if (name == "never") {
    return Direct::never;
  }
  if (name == "automatic") {
    return Direct::automatic;
  }
  if (name == "always") {
    return Direct::always;
  }
  if (name == "adaptive") {
    return Direct::adaptive;
  }
  throw std::invalid_argument("direct must be 'never', 'automatic', 'always' or 'adaptive', not '" + name + "'");
}

Urgency urgency_of(const std::string& name) {
  if (name == "program") {
    return Urgency::program;
  }
  if (name == "drain") {
    return Urgency::drain;
  }
  if (name == "prefetch") {
    return Urgency::prefetch;
  }
  throw std::invalid_argument("urgency must be 'program', 'drain' or 'prefetch', not '" + name + "'");
}

}  // namespace

OpenedFile::OpenedFile(const std::string& path, int flags, unsigned mode, const std::string& direct,
                       const std::string& urgency, bool staged, const std::string& tier)
    : file_(File::open(path, flags,
                       {.direct = direct_of(direct),
                        .mode = mode,
                        .urgency = urgency_of(urgency),
                        .staged = staged,
                        .tier = tier})) {}

PyTypeObject* file_type() noexcept {
  static auto* const type = reinterpret_cast<PyTypeObject*>(nanobind::type<OpenedFile>().ptr());
  return type;
}

}  // namespace dovetail::python
