/// @file
/// Recording in C of what workers, tasks and I/O did. What dovetail.h says at its top about results, contexts, suspending, errors
/// and structures holds here.
#ifndef DOVETAIL_DOVETAIL_TRACE_H
#define DOVETAIL_DOVETAIL_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a recording says about overlap. Times in seconds.
typedef struct dovetail_trace_summary {
  size_t size;           ///< `sizeof(dovetail_trace_summary)`.
  double total;          ///< From start to stop (or to now).
  double compute;        ///< Time that bodies used the processor on compute workers, divided by their number.
  double io;             ///< Time during which at least one I/O operation was in flight, or an I/O task ran.
  double bytes_read;     ///< Bytes read.
  double bytes_written;  ///< Bytes written.
  double hidden_share;   ///< Of `io`, the share during which at least one worker computed: 0 to 1.
  int32_t workers;       ///< Compute workers that recorded something.
  int32_t reserved;      ///< 0.
  double
      communication;  ///< Time during which at least one message of a task to or from another process was outstanding.
  double
      communication_hidden_share;  ///< Of `communication`, the share during which at least one worker computed: 0 to 1.
} dovetail_trace_summary;

/// Begins to record in all threads; forgets what was recorded before. Context: any. Suspends: no. Errors: -ENOMEM.
int32_t dovetail_trace_start(void);
/// Ends recording; what was recorded stays until the next start. Context: any. Suspends: no. Errors: none.
int32_t dovetail_trace_stop(void);
/// Whether recording is on: 1 or 0. Context: any. Suspends: no. Errors: none.
int32_t dovetail_trace_recording(void);
/// Gives totals of the recording so far; no task should be running. Set `summary->size` before. Context: any.
/// Suspends: no. Errors: -EINVAL.
int32_t dovetail_trace_summarize(dovetail_trace_summary* summary);
/// Writes the recording as Chrome trace JSON, which Perfetto opens. Context: any. Suspends: no, blocks. Errors: those
/// of opening and writing `path`.
int32_t dovetail_trace_write(const char* path);

#ifdef __cplusplus
}
#endif

#endif
