// Traces.
#include "dovetail/trace.hpp"

#include "argument.hpp"
#include "error.hpp"

using namespace dovetail::c;

extern "C" {

int32_t dovetail_trace_start(void) {
  return guarded(__func__, []() -> int32_t {
    dovetail::trace::start();
    return 0;
  });
}

int32_t dovetail_trace_stop(void) {
  return guarded(__func__, []() -> int32_t {
    dovetail::trace::stop();
    return 0;
  });
}

int32_t dovetail_trace_recording(void) { return dovetail::trace::recording() ? 1 : 0; }

int32_t dovetail_trace_summarize(dovetail_trace_summary* summary) {
  return guarded(__func__, [&]() -> int32_t {
    check_size(given(summary, "summary"), "summary");
    const dovetail::trace::Summary totals = dovetail::trace::summarize();
    summary->total = totals.total;
    summary->compute = totals.compute;
    summary->io = totals.io;
    summary->bytes_read = totals.bytes_read;
    summary->bytes_written = totals.bytes_written;
    summary->hidden_share = totals.hidden_share();
    summary->workers = static_cast<int32_t>(totals.workers);
    summary->reserved = 0;
    return 0;
  });
}

int32_t dovetail_trace_write(const char* path) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::trace::write(&given(path, "path"));
    return 0;
  });
}

}  // extern "C"
