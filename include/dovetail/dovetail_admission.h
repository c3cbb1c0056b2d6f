/// @file
/// The storage devices that tasks are admitted to, in C. The rules at the top of dovetail.h on results, contexts, suspending, errors and
/// structures hold here. What a task says about admission is in `dovetail_task_description`. See docs/admission.md.
#ifndef DOVETAIL_ADMISSION_H
#define DOVETAIL_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A storage device.
typedef struct dovetail_storage_device {
  size_t size;                 ///< `sizeof(dovetail_storage_device)`.
  double read_mb_per_second;   ///< 10^6 bytes per second; 0: not known.
  double write_mb_per_second;  ///< Likewise.
  int32_t shared;              ///< Not 0: used by several machines.
  int32_t configured;          ///< Not 0: from dovetail.toml; else found by path.
} dovetail_storage_device;

/// What is known of the device `name_or_path`, which may be null: the first configured, else the current folder's. It is looked for in the
/// settings file `config`, which may be null: the usual places. Set `device->size` before. `measure` not 0: measures what is not known.
/// Context: any. Suspends: no, but reads files, and blocks up to a second if it measures. Errors: -EINVAL, also for a device that does not
/// exist and for a settings file that is wrong; the message says what.
int32_t dovetail_storage_device_find(const char* name_or_path, const char* config, int32_t measure,
                                     dovetail_storage_device* device);

/// Copies what admission did so far, as JSON text, with an ending zero into `buffer`, cut to `capacity`, and returns its whole length. The
/// text may be longer at the next call. `buffer` may be null with a capacity of 0. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_admission_report(char* buffer, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
