/// @file
/// Dovetail in C: I/O tasks that are admitted to a storage device, and the devices. Everything that dovetail.h says at its top about
/// errors, contexts and suspending holds here too. See docs/admission.md.
#ifndef DOVETAIL_ADMISSION_H
#define DOVETAIL_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "dovetail/dovetail.h"

#ifdef __cplusplus
extern "C" {
#endif

/// When an I/O task may start.
typedef struct dovetail_admission {
  size_t size;             ///< `sizeof(dovetail_admission)`.
  const char* storage_bw;  ///< "20" (MB/s), "auto", "auto(min,max,delta)", "adaptive" or "none". Null: "none".
  const char* device;  ///< Name of the device, or a path on it. Null: the first configured, else the current folder's.
} dovetail_admission;

/// A storage device.
typedef struct dovetail_storage_device {
  size_t size;                 ///< `sizeof(dovetail_storage_device)`.
  double read_mb_per_second;   ///< 10^6 bytes per second; 0: not known.
  double write_mb_per_second;  ///< Likewise.
  int32_t shared;              ///< Not 0: used by several machines.
  int32_t configured;          ///< Not 0: from dovetail.toml; else found by path.
} dovetail_storage_device;

/// As `dovetail_runtime_spawn`, for a task whose description has `io`, and that starts when its device has room for it. The
/// bandwidth of a device that is not configured is measured once, which may take half a second. Context: wait. Suspends: may,
/// as there. Errors: -EINVAL also for a constraint that makes no sense and for a device that does not exist; as there.
int32_t dovetail_runtime_spawn_admitted(dovetail_runtime* runtime, const dovetail_task_description* description,
                                        const dovetail_admission* admission, dovetail_future** future);
/// As `dovetail_task_spawn`, and as above. Context: task. Suspends: may, as there. Errors: as there and above.
int32_t dovetail_task_spawn_admitted(const dovetail_task_description* description, const dovetail_admission* admission,
                                     dovetail_future** future);

/// What is known of a device: by name or path (null: the first configured, else the current folder's), in the settings file
/// `config` (null: where it is looked for). Set `device->size` before. `measure` not 0: measures what is not known. Context: any.
/// Suspends: no, but reads files, and blocks up to a second if it measures. Errors: -EINVAL, also for a device that does not exist
/// and for a settings file that is wrong; the message says what.
int32_t dovetail_storage_device_find(const char* name_or_path, const char* config, int32_t measure,
                                     dovetail_storage_device* device);

/// Copies what admission did so far, as JSON text, with an ending zero into `buffer`, cut to `capacity`, and returns its whole
/// length; it may be longer when asked again. `buffer` may be null with a capacity of 0. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_admission_report(char* buffer, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
