/// @file
/// Memory in C that the kernel knows before a transfer begins. What dovetail.h says at its top about results, contexts, suspending
/// and errors holds here.
#ifndef DOVETAIL_DOVETAIL_BUFFERS_H
#define DOVETAIL_DOVETAIL_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Memory that begins at a page and that rings of io_uring keep registered: transfers that lie in it cost less. Everywhere
/// else it is plain memory.
typedef struct dovetail_io_buffer dovetail_io_buffer;

/// What the rings said that have used a buffer.
enum {
  DOVETAIL_REGISTRATION_NONE = 0,      ///< No ring has used it yet.
  DOVETAIL_REGISTRATION_ACCEPTED = 1,  ///< Registered with all rings that have used it.
  DOVETAIL_REGISTRATION_REFUSED = 2    ///< Some ring could not have it: there it is plain memory.
};

/// Allocates `bytes` of zeros. `*buffer` is the caller's until `dovetail_io_buffer_destroy`. Context: any. Suspends: no.
/// Errors: -EINVAL, -ENOMEM.
int32_t dovetail_io_buffer_create(size_t bytes, dovetail_io_buffer** buffer);
/// The first byte; null for a null buffer. Context: any. Suspends: no. Errors: none.
void* dovetail_io_buffer_data(const dovetail_io_buffer* buffer);
/// Bytes; 0 for a null buffer. Context: any. Suspends: no. Errors: none.
size_t dovetail_io_buffer_size(const dovetail_io_buffer* buffer);
/// DOVETAIL_REGISTRATION_NONE and so on. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_io_buffer_registration(const dovetail_io_buffer* buffer);
/// Why a ring refused it, a positive errno (ENOMEM beyond RLIMIT_MEMLOCK, ENOSPC: too many buffers); 0 if none did. Context: any.
/// Suspends: no. Errors: -EINVAL.
int32_t dovetail_io_buffer_registration_error(const dovetail_io_buffer* buffer);
/// Frees it; no transfer may be in flight. Null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_io_buffer_destroy(dovetail_io_buffer* buffer);

#ifdef __cplusplus
}
#endif

#endif
