#include "storage/request_trace.hpp"

#include <string_view>

#include "storage/open_file.hpp"
#include "trace/trace.hpp"

namespace dovetail::storage {

void trace_begin(const Request& request) noexcept {
  if (trace::enabled()) [[unlikely]] {
    const trace::Transfer direction = reads(request.kind)    ? trace::Transfer::read
                                      : writes(request.kind) ? trace::Transfer::write
                                                             : trace::Transfer::none;
    trace::io_submitted(
        trace::number_of(&request), direction, name_of(request.kind),
        request.file != nullptr ? std::string_view(request.file->path()) : std::string_view(request.path),
        request.remaining, transfers(request.kind) ? request.offset : 0);
  }
}

void trace_end(const Request& request) noexcept {
  if (trace::enabled()) [[unlikely]] {
    trace::io_completed(trace::number_of(&request), request.error != 0
                                                        ? -std::int64_t{request.error}
                                                        : static_cast<std::int64_t>(request.transferred));
  }
}

}  // namespace dovetail::storage
