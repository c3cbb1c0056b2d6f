/* Preloaded, so that HDF5's own tests leave nothing out. They ask whether HDF5's native connector is used, and test less if it is not. All that
 * they ask of it must also hold under a connector that stands before it. */
#include <stdbool.h>
#include <stdint.h>

int h5_using_native_vol(int64_t access_properties, int64_t object, bool* native);

int h5_using_native_vol(int64_t access_properties, int64_t object, bool* native) {
  (void)access_properties;
  (void)object;
  *native = true;
  return 0;
}
