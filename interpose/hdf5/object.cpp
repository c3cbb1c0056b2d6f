#include "object.hpp"

#include <utility>

#include "errors.hpp"

namespace dovetail::hdf5 {

Object* wrap(void* under, hid_t connector, std::string path) {
  if (under == nullptr) {
    return nullptr;
  }
  H5Iinc_ref(connector);
  return new Object{.under = under, .connector = connector, .name = std::make_shared<ObjectName>(std::move(path))};
}

Object* to_be_made(hid_t connector, std::string path) {
  H5Iinc_ref(connector);
  return new Object{.under = nullptr,
                    .connector = connector,
                    .name = std::make_shared<ObjectName>(std::move(path)),
                    .compression_known = true,
                    .to_be_made = true};
}

void unwrap(Object* object) noexcept {
  {
    const KeptErrors kept;
    H5Idec_ref(object->connector);
  }
  delete object;
}

}  // namespace dovetail::hdf5
