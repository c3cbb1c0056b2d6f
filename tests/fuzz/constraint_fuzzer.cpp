// Constraints as programs and users write them: what is understood says the same when it is written out and read again.
#include <stdexcept>

#include "dovetail/admission.hpp"
#include "fuzzer.hpp"

namespace dovetail::fuzz {

std::vector<std::string> seeds() {
  return {"none",          "20",
          "0.5",           "auto",
          "auto(2,256,2)", "auto(2.5,256,1.5)",
          "adaptive",      "auto(",
          "1e400",         repeated("9", 5000)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  try {
    const StorageBandwidth constraint = StorageBandwidth::parse(fuzz::text_of(data, size));
    fuzz::require(StorageBandwidth::parse(constraint.text()) == constraint, "a constraint comes back from its text");
  } catch (const std::invalid_argument&) {
    return 0;
  }
  return 0;
}
