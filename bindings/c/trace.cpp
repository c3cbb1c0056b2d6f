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
    fill_in(summary,
            {.size = 0,
             .total = totals.total,
             .compute = totals.compute,
             .io = totals.io,
             .bytes_read = totals.bytes_read,
             .bytes_written = totals.bytes_written,
             .hidden_share = totals.hidden_share(),
             .workers = static_cast<int32_t>(totals.workers),
             .reserved = 0,
             .communication = totals.communication,
             .communication_hidden_share = totals.communication_hidden_share()},
            "summary");
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
