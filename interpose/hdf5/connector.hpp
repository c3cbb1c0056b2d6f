// The parts of the connector's class, each in a file of its own.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

namespace dovetail::hdf5 {

inline constexpr auto connector_name = "dovetail";
inline constexpr auto connector_value = static_cast<H5VL_class_value_t>(417);

/// What a list of file access properties says to the connector: which one is below.
struct Information {
  hid_t connector;  ///< One reference.
  void* under;      ///< Its own information, or null.
};

/// The connector below and a copy of the list that is made for it, for as long as this lives.
class UnderList {
 public:
  explicit UnderList(hid_t access_properties);
  UnderList(const UnderList&) = delete;
  UnderList& operator=(const UnderList&) = delete;
  ~UnderList();
  hid_t connector() const noexcept { return connector_; }
  hid_t list() const noexcept { return list_; }

 private:
  hid_t connector_;
  hid_t list_;
};

/// The class that HDF5 is given.
const H5VL_class_t& connector_class();

H5VL_info_class_t information_class();
H5VL_wrap_class_t wrap_class();
H5VL_attr_class_t attribute_class();
H5VL_dataset_class_t dataset_class();
H5VL_datatype_class_t datatype_class();
H5VL_file_class_t file_class();
H5VL_group_class_t group_class();
H5VL_link_class_t link_class();
H5VL_object_class_t object_class();

/// As the callback of the same name; with null, of HDF5's own connector.
herr_t capabilities(const void* information, std::uint64_t* flags);

}  // namespace dovetail::hdf5
