// Links, and objects of any kind.
#include <string>

#include "call.hpp"
#include "connector.hpp"
#include "pass.hpp"
#include "services.hpp"
#include "whereabouts.hpp"

namespace dovetail::hdf5 {
namespace {

// One of two places may be missing; the connector below is that of the other.
const Object* either(void* first, void* second) {
  return static_cast<const Object*>(first != nullptr ? first : second);
}

// An object that was made without a name gets its first one.
void name_it(const Object& object, const Object& place, const char* name) {
  const std::string path = path_below(place.name.get(), name);
  const Lock lock(services().stage.mutex);
  if (object.name->path.empty()) {
    object.name->path = path;
  }
}

herr_t create(H5VL_link_create_args_t* arguments, void* place_object, const H5VL_loc_params_t* place, hid_t creation,
              hid_t access, hid_t transfer, void** request) {
  H5VL_link_create_args_t changed = *arguments;
  const Object* known = static_cast<const Object*>(place_object);
  if (arguments->op_type == H5VL_LINK_CREATE_HARD && arguments->args.hard.curr_obj != nullptr) {
    known = either(place_object, arguments->args.hard.curr_obj);
    changed.args.hard.curr_obj = under_of(arguments->args.hard.curr_obj);
  }
  if (known == nullptr) {
    return -1;
  }
  Call call("H5Lcreate", *known, request);
  const herr_t result = call.ended(H5VLlink_create(&changed, under_of(place_object), place, known->connector, creation,
                                                   access, transfer, call.request()));
  if (result >= 0 && arguments->op_type == H5VL_LINK_CREATE_HARD && arguments->args.hard.curr_obj != nullptr &&
      arguments->args.hard.curr_loc_params.type == H5VL_OBJECT_BY_SELF && place->type == H5VL_OBJECT_BY_NAME) {
    name_it(object_of(arguments->args.hard.curr_obj), *known, place->loc_data.loc_by_name.name);
  }
  return result;
}

template <Name name, auto under>
herr_t between(void* source, const H5VL_loc_params_t* from, void* target, const H5VL_loc_params_t* to, hid_t creation,
               hid_t access, hid_t transfer, void** request) {
  const Object* known = either(source, target);
  if (known == nullptr) {
    return -1;
  }
  Call call(kept_name<name>.text, *known, request);
  return call.ended(under(under_of(source), from, under_of(target), to, known->connector, creation, access, transfer,
                          call.request()));
}

void* open_object(void* parent, const H5VL_loc_params_t* place, H5I_type_t* type, hid_t transfer, void** request) {
  const Object& self = object_of(parent);
  const char* name = place->type == H5VL_OBJECT_BY_NAME ? place->loc_data.loc_by_name.name : nullptr;
  Call call("H5Oopen", &self, name, self.connector, request);
  return wrap(call.ended(H5VLobject_open(self.under, place, self.connector, type, transfer, call.request())),
              self.connector, path_below(self.name.get(), name));
}

herr_t copy_object(void* source, const H5VL_loc_params_t* from, const char* source_name, void* target,
                   const H5VL_loc_params_t* to, const char* target_name, hid_t how, hid_t creation, hid_t transfer,
                   void** request) {
  const Object& self = object_of(source);
  Call call("H5Ocopy", &self, source_name, self.connector, request);
  return call.ended(H5VLobject_copy(self.under, from, source_name, under_of(target), to, target_name, self.connector,
                                    how, creation, transfer, call.request()));
}

}  // namespace

H5VL_link_class_t link_class() {
  return {.create = guarded<create>,
          .copy = guarded<&between<"H5Lcopy", H5VLlink_copy>>,
          .move = guarded<&between<"H5Lmove", H5VLlink_move>>,
          .get = passed<"H5Lget", H5VLlink_get>,
          .specific = passed<"H5Lspecific", H5VLlink_specific>,
          .optional = passed<"link operation", H5VLlink_optional>};
}

H5VL_object_class_t object_class() {
  return {.open = guarded<open_object>,
          .copy = guarded<copy_object>,
          .get = passed<"H5Oget", H5VLobject_get>,
          .specific = passed<"H5Ospecific", H5VLobject_specific>,
          .optional = guarded<optional_of_object>};
}

}  // namespace dovetail::hdf5
