// Which engines work in this process, and if not, why. Everything is tried, nothing is concluded from version numbers.
#pragma once

#include <string>
#include <vector>

namespace dovetail::device {

/// Something that an engine can or cannot do here.
struct FeatureProbe {
  std::string name;     ///< What it is, in a few words.
  bool works = false;   ///< Tried, and it did.
  std::string why_not;  ///< What the kernel said.
};

struct EngineProbe {
  std::string name;  ///< `uring`, `aio` or `threads`
  bool works = false;
  std::string why_not;                 ///< What the kernel said, what that means, and what to do.
  std::vector<FeatureProbe> features;  ///< Of an engine that works.
};

EngineProbe probe_uring();
EngineProbe probe_aio();
EngineProbe probe_threads();
/// All of them, in the order in which they are preferred.
std::vector<EngineProbe> probe_engines();

}  // namespace dovetail::device
