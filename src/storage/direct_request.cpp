#include "storage/direct_request.hpp"

#include <algorithm>
#include <cstring>

#include "storage/open_file.hpp"

namespace dovetail::storage {
namespace {

bool goes_directly(const Request& request) noexcept { return request.descriptor == request.file->direct_descriptor(); }

bool begins_with_whole_page(const Request& request) noexcept {
  const std::uint64_t alignment = request.file->alignment();
  return request.offset % alignment == 0 && request.remaining >= alignment;
}

// Bytes of the rest that the chosen descriptor can take.
std::uint64_t reach(const Request& request) noexcept {
  if (reads(request.kind)) {
    return request.remaining;
  }
  const std::uint64_t alignment = request.file->alignment();
  if (begins_with_whole_page(request)) {
    return request.remaining - request.remaining % alignment;
  }
  if (goes_directly(request)) {
    return request.remaining;  // there is no other way: the system says what it thinks of it
  }
  return std::min(request.remaining, alignment - request.offset % alignment);
}

// Copies `bytes` between the bounce buffer and the program's memory, from where the request stands.
void copy_bounce(const DirectRequest& request, std::uint64_t bytes) noexcept {
  std::byte* bounce = request.bounce->data;
  const bool out = reads(request.kind);
  const auto copy = [&](std::byte* memory, std::uint64_t length) {
    std::memcpy(out ? memory : bounce, out ? bounce : memory, length);
    bounce += length;
  };
  if (!vectored(request.kind)) {
    copy(request.data, bytes);
    return;
  }
  std::uint64_t within = request.within_vector;
  for (const iovec* vector = request.vectors; bytes > 0; ++vector, within = 0) {
    const std::uint64_t length = std::min<std::uint64_t>(bytes, vector->iov_len - within);
    if (length > 0) {
      copy(static_cast<std::byte*>(vector->iov_base) + within, length);
      bytes -= length;
    }
  }
}

class DirectAdaptor final : public RequestAdaptor {
 public:
  void plan(Request& request) const noexcept override {
    if (writes(request.kind)) {
      const int cached = begins_with_whole_page(request) ? -1 : request.file->cached_descriptor();
      request.descriptor = cached >= 0 ? cached : request.file->direct_descriptor();
    }
    if (!through_bounce(request)) {
      plan_up_to(request, reach(request));
      return;
    }
    request.attempt = static_cast<std::uint32_t>(std::min<std::uint64_t>(reach(request), BounceBuffer::size));
    if (writes(request.kind)) {
      copy_bounce(static_cast<DirectRequest&>(request), request.attempt);
    }
  }

  Attempt attempt(const Request& request) const noexcept override {
    if (!through_bounce(request)) {
      return attempt_up_to(request, reach(request));
    }
    return {reads(request.kind) ? Kind::read : Kind::write, bounce_of(request)->data, request.attempt, request.offset};
  }

  bool moved(const Request& request, std::uint64_t bytes) const noexcept override {
    if (reads(request.kind) && bounce_of(request) != nullptr) {
      copy_bounce(static_cast<const DirectRequest&>(request), bytes);
    }
    // The file system gives whole blocks until the file ends; to ask again from the middle of a block would be refused.
    return goes_directly(request) && bytes % request.file->block_size() != 0;
  }

 private:
  static const BounceBuffer* bounce_of(const Request& request) noexcept {
    return static_cast<const DirectRequest&>(request).bounce;
  }
  static bool through_bounce(const Request& request) noexcept {
    return bounce_of(request) != nullptr && goes_directly(request);
  }
};

}  // namespace

const RequestAdaptor& direct_adaptor() noexcept {
  static constinit const DirectAdaptor adaptor;
  return adaptor;
}

}  // namespace dovetail::storage
