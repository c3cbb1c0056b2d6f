// Memory that rings keep registered.
#include "dovetail/buffers.hpp"

#include <memory>

#include "argument.hpp"
#include "dovetail/dovetail_buffers.h"
#include "error.hpp"

struct dovetail_io_buffer {
  dovetail::IoBuffer buffer;
};

using namespace dovetail::c;
using Registration = dovetail::IoBuffer::Registration;

static_assert(static_cast<int32_t>(Registration::accepted) == DOVETAIL_REGISTRATION_ACCEPTED &&
              static_cast<int32_t>(Registration::refused) == DOVETAIL_REGISTRATION_REFUSED);

extern "C" {

int32_t dovetail_io_buffer_create(size_t bytes, dovetail_io_buffer** buffer) {
  return guarded(__func__, [&]() -> int32_t {
    given(buffer, "buffer");
    *buffer = new dovetail_io_buffer{dovetail::IoBuffer(bytes)};
    return 0;
  });
}

void* dovetail_io_buffer_data(const dovetail_io_buffer* buffer) {
  return buffer != nullptr ? buffer->buffer.data() : nullptr;
}

size_t dovetail_io_buffer_size(const dovetail_io_buffer* buffer) {
  return buffer != nullptr ? buffer->buffer.size() : 0;
}

int32_t dovetail_io_buffer_registration(const dovetail_io_buffer* buffer) {
  return guarded(__func__,
                 [&]() -> int32_t { return static_cast<int32_t>(given(buffer, "buffer").buffer.registration()); });
}

int32_t dovetail_io_buffer_registration_error(const dovetail_io_buffer* buffer) {
  return guarded(__func__, [&]() -> int32_t { return given(buffer, "buffer").buffer.registration_error(); });
}

void dovetail_io_buffer_destroy(dovetail_io_buffer* buffer) { delete buffer; }

}  // extern "C"
