// Which connector is below, as a list of file access properties carries it, and how objects of that one are wrapped on its behalf.
#include <H5VLconnector_passthru.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "call.hpp"
#include "connector.hpp"
#include "driver.hpp"
#include "errors.hpp"

namespace dovetail::hdf5 {
namespace {

hid_t native_connector() { return H5VLget_connector_id_by_value(H5_VOL_NATIVE); }

void* copy(const void* given) {
  const auto& information = *static_cast<const Information*>(given);
  auto made = std::make_unique<Information>(Information{information.connector, nullptr});
  H5Iinc_ref(made->connector);
  if (information.under != nullptr && H5VLcopy_connector_info(made->connector, &made->under, information.under) < 0) {
    H5Idec_ref(made->connector);
    return nullptr;
  }
  return made.release();
}

herr_t compare(int* order, const void* first, const void* second) {
  const auto& one = *static_cast<const Information*>(first);
  const auto& other = *static_cast<const Information*>(second);
  *order = 0;
  if (H5VLcmp_connector_cls(order, one.connector, other.connector) < 0) {
    return -1;
  }
  return *order != 0 ? 0 : H5VLcmp_connector_info(order, one.connector, one.under, other.under);
}

herr_t release(void* given) {
  const std::unique_ptr<Information> information(static_cast<Information*>(given));
  const KeptErrors kept;
  if (information->under != nullptr) {
    H5VLfree_connector_info(information->connector, information->under);
  }
  H5Idec_ref(information->connector);
  return 0;
}

herr_t to_text(const void* given, char** text) {
  const auto& information = *static_cast<const Information*>(given);
  H5VL_class_value_t value = H5_VOL_INVALID;
  H5VLget_value(information.connector, &value);
  char* under = nullptr;
  H5VLconnector_info_to_str(information.under, information.connector, &under);
  const std::string made = "under_vol=" + std::to_string(static_cast<unsigned>(value)) + ";under_info={" +
                           (under != nullptr ? under : "") + "}";
  H5free_memory(under);
  *text = static_cast<char*>(H5allocate_memory(made.size() + 1, false));
  if (*text == nullptr) {
    return -1;
  }
  std::memcpy(*text, made.c_str(), made.size() + 1);
  return 0;
}

// The number of the connector that this one stands on; none: it is not said.
std::optional<unsigned> under_of(std::string_view text) {
  constexpr std::string_view key = "under_vol=";
  unsigned value = 0;
  const std::size_t begin = text.find(key);
  if (begin == std::string_view::npos) {
    return text.empty() ? std::optional(value) : std::nullopt;
  }
  const char* number = text.data() + begin + key.size();
  return std::from_chars(number, text.data() + text.size(), value).ec == std::errc{} ? std::optional(value)
                                                                                     : std::nullopt;
}

// The connector that this one stands on, with what it needs to know. Nothing: it cannot be used.
std::unique_ptr<Information> stand_on(unsigned value, std::string_view text) {
  const QuietErrors quiet;
  const hid_t connector = H5VLregister_connector_by_value(static_cast<H5VL_class_value_t>(value), H5P_DEFAULT);
  if (connector < 0) {
    return nullptr;
  }
  void* under = nullptr;
  const std::size_t open = text.find('{');
  const std::size_t close = text.rfind('}');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open + 1) {
    const std::string inner(text.substr(open + 1, close - open - 1));
    if (H5VLconnector_str_to_info(inner.c_str(), connector, &under) < 0) {
      H5Idec_ref(connector);
      return nullptr;
    }
  }
  return std::make_unique<Information>(Information{connector, under});
}

// "under_vol=0;under_info={...}", as other connectors that stand on one have it; nothing at all stands for HDF5's own. So does what cannot be
// used: HDF5 would not start, and programs that do not expect that end with a bare SIGSEGV.
herr_t from_text(const char* given, void** made) {
  const std::string_view text = given != nullptr ? given : "";
  const std::optional<unsigned> value = under_of(text);
  std::unique_ptr<Information> stand = value ? stand_on(*value, text) : nullptr;
  if (stand == nullptr) {
    std::fprintf(stderr,
                 "dovetail: HDF5_VOL_CONNECTOR has '%.*s' for dovetail, which is ignored: it must be "
                 "under_vol=0;under_info={}, or name another connector that HDF5 finds\n",
                 static_cast<int>(text.size()), text.data());
    stand = stand_on(0, {});
  }
  *made = stand.release();
  return *made != nullptr ? 0 : -1;
}

struct WrapContext {
  hid_t connector;  // one reference
  void* under;
};

void* object_below(const void* object) {
  const Object& self = object_of(const_cast<void*>(object));
  return H5VLget_object(self.under, self.connector);
}

herr_t wrap_context(const void* object, void** made) {
  const auto& self = *static_cast<const Object*>(object);
  auto context = std::make_unique<WrapContext>(WrapContext{self.connector, nullptr});
  if (self.under != nullptr && H5VLget_wrap_ctx(self.under, self.connector, &context->under) < 0) {
    return -1;
  }
  H5Iinc_ref(context->connector);
  *made = context.release();
  return 0;
}

void* wrap_object(void* under, H5I_type_t type, void* given) {
  const auto& context = *static_cast<const WrapContext*>(given);
  return wrap(H5VLwrap_object(under, type, context.connector, context.under), context.connector, {});
}

void* unwrap_object(void* object) {
  Object& self = object_of(object);
  void* const under = H5VLunwrap_object(self.under, self.connector);
  if (under != nullptr) {
    unwrap(&self);
  }
  return under;
}

herr_t free_wrap_context(void* given) {
  const std::unique_ptr<WrapContext> context(static_cast<WrapContext*>(given));
  const KeptErrors kept;
  if (context->under != nullptr) {
    H5VLfree_wrap_ctx(context->under, context->connector);
  }
  H5Idec_ref(context->connector);
  return 0;
}

}  // namespace

UnderList::UnderList(hid_t access_properties) : connector_(H5I_INVALID_HID), list_(H5Pcopy(access_properties)) {
  void* given = nullptr;
  H5Pget_vol_info(access_properties, &given);
  if (given != nullptr) {
    const auto& information = *static_cast<const Information*>(given);
    connector_ = information.connector;
    H5Iinc_ref(connector_);
    H5Pset_vol(list_, connector_, information.under);
    release(given);
  } else {
    connector_ = native_connector();
    H5Pset_vol(list_, connector_, nullptr);
  }
  H5VL_class_value_t value = H5_VOL_INVALID;
  if (H5VLget_value(connector_, &value) >= 0 && value == H5_VOL_NATIVE) {
    replace_posix_driver(list_);
  }
}

UnderList::~UnderList() {
  const KeptErrors kept;
  H5Pclose(list_);
  H5Idec_ref(connector_);
}

herr_t capabilities(const void* given, std::uint64_t* flags) {
  herr_t result = 0;
  if (given != nullptr) {
    const auto& information = *static_cast<const Information*>(given);
    result = H5VLintrospect_get_cap_flags(information.under, information.connector, flags);
  } else {
    const hid_t native = native_connector();
    result = H5VLintrospect_get_cap_flags(nullptr, native, flags);
    H5Idec_ref(native);
  }
  if (result >= 0) {
    *flags |= connector_class().cap_flags;
  }
  return result;
}

H5VL_info_class_t information_class() {
  return {.size = sizeof(Information),
          .copy = guarded<copy>,
          .cmp = guarded<compare>,
          .free = guarded<release>,
          .to_str = guarded<to_text>,
          .from_str = guarded<from_text>};
}

H5VL_wrap_class_t wrap_class() {
  return {.get_object = object_below,
          .get_wrap_ctx = guarded<wrap_context>,
          .wrap_object = guarded<wrap_object>,
          .unwrap_object = unwrap_object,
          .free_wrap_ctx = free_wrap_context};
}

}  // namespace dovetail::hdf5
