// One-sided communication. An object of C is one of C++.
#include "dovetail/rma_inbox.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "argument.hpp"
#include "base/mutex.hpp"
#include "dovetail/dovetail_rma.h"
#include "error.hpp"

namespace rma = dovetail::rma;

struct dovetail_rma_segment {
  rma::Segment segment;
};
struct dovetail_rma_inbox {
  rma::Inbox inbox;
};
struct dovetail_rma_group {
  explicit dovetail_rma_group(rma::Group made) : group(std::move(made)) {
    for (int rank = 0; rank < group.size(); ++rank) {
      transports.push_back(group.transport(rank));
    }
  }
  rma::Group group;
  std::vector<std::string> transports;  // by rank
  dovetail::base::Mutex adding;
  std::deque<dovetail_rma_segment> segments GUARDED_BY(adding);  // which do not move
  std::deque<dovetail_rma_inbox> inboxes GUARDED_BY(adding);
};

namespace dovetail::c {
namespace {

std::uint8_t segment_number(std::uint32_t segment) {
  if (segment > std::numeric_limits<std::uint8_t>::max()) {
    throw std::out_of_range("segment " + std::to_string(segment) + " is none: a group has at most 255");
  }
  return static_cast<std::uint8_t>(segment);
}

rma::Remote remote(std::int32_t rank, std::uint32_t segment, std::int64_t offset) {
  return {.rank = rank, .segment = segment_number(segment), .offset = natural(offset, "offset")};
}

std::span<const std::byte> bytes_at(const void* data, std::size_t bytes) {
  if (bytes > 0) {
    given(static_cast<const std::byte*>(data), "data");
  }
  return {static_cast<const std::byte*>(data), bytes};
}

std::span<std::byte> bytes_at(void* data, std::size_t bytes) {
  if (bytes > 0) {
    given(static_cast<std::byte*>(data), "data");
  }
  return {static_cast<std::byte*>(data), bytes};
}

std::vector<rma::Transfer> transfers(const dovetail_rma_transfer* parts, std::size_t count) {
  if (count > 0) {
    given(parts, "parts");
  }
  std::vector<rma::Transfer> made;
  made.reserve(count);
  for (const dovetail_rma_transfer& part : std::span(parts, count)) {
    made.push_back({bytes_at(part.data, part.bytes), remote(part.rank, part.segment, part.offset)});
  }
  return made;
}

int sender(std::int32_t from) noexcept { return from < 0 ? rma::anyone : from; }

const rma::Segment& own(const dovetail_rma_segment* segment) { return given(segment, "segment").segment; }

// What the group owns: `objects` are its segments or its inboxes, `name` is the argument's.
template <class Object, class Make>
std::int32_t add(dovetail_rma_group* group, std::deque<Object> dovetail_rma_group::* objects, Object** place,
                 const char* name, const Make& make) {
  given(place, name);
  dovetail_rma_group& in = given(group, "group");
  Object made{make(in.group)};
  const base::LockGuard lock(in.adding);
  *place = &(in.*objects).emplace_back(std::move(made));
  return 0;
}
template <class Make>
std::int32_t add_segment(dovetail_rma_group* group, dovetail_rma_segment** segment, const Make& make) {
  return add(group, &dovetail_rma_group::segments, segment, "segment", make);
}

const rma::Inbox& own(const dovetail_rma_inbox* inbox) { return given(inbox, "inbox").inbox; }

void put(const rma::Inbox::Received& received, std::int32_t* rank, std::size_t* bytes) noexcept {
  *rank = received.rank;
  *bytes = received.bytes;
}

void put(std::uint32_t* place, std::uint32_t value) noexcept {
  if (place != nullptr) {
    *place = value;
  }
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_rma_group_start(const dovetail_rma_options* options, dovetail_rma_group** group) {
  return guarded(__func__, [&]() -> int32_t {
    given(group, "group");
    rma::GroupOptions chosen;
    if (options != nullptr) {
      const dovetail_rma_options given_options = known_part(options, "options");
      if (const auto timeout = natural(given_options.start_timeout_ms, "options->start_timeout_ms"); timeout > 0) {
        chosen.start_timeout = std::chrono::milliseconds(timeout);
      }
      if (const auto timeout = natural(given_options.silence_timeout_ms, "options->silence_timeout_ms"); timeout > 0) {
        chosen.silence_timeout = std::chrono::milliseconds(timeout);
      }
    }
    *group = std::make_unique<dovetail_rma_group>(rma::Group::start(chosen)).release();
    return 0;
  });
}

void dovetail_rma_group_end(dovetail_rma_group* group) { delete group; }

int32_t dovetail_rma_group_rank(const dovetail_rma_group* group) {
  return guarded(__func__, [&]() -> int32_t { return given(group, "group").group.rank(); });
}

int32_t dovetail_rma_group_size(const dovetail_rma_group* group) {
  return guarded(__func__, [&]() -> int32_t { return given(group, "group").group.size(); });
}

const char* dovetail_rma_group_transport(const dovetail_rma_group* group, int32_t rank) {
  const bool is_there = group != nullptr && rank >= 0 && rank < group->group.size();
  return is_there ? group->transports[static_cast<std::size_t>(rank)].c_str() : nullptr;
}

int32_t dovetail_rma_group_barrier(const dovetail_rma_group* group) {
  return guarded(__func__, [&]() -> int32_t {
    given(group, "group").group.barrier();
    return 0;
  });
}

int32_t dovetail_rma_segment_allocate(dovetail_rma_group* group, size_t bytes, uint32_t notifications,
                                      dovetail_rma_segment** segment) {
  return guarded(__func__, [&]() -> int32_t {
    return add_segment(group, segment, [&](const rma::Group& in) {
      return rma::Segment::allocate(in, bytes, {.notifications = notifications});
    });
  });
}

int32_t dovetail_rma_segment_use(dovetail_rma_group* group, void* data, size_t bytes, uint32_t notifications,
                                 dovetail_rma_segment** segment) {
  return guarded(__func__, [&]() -> int32_t {
    const std::span<std::byte> memory = bytes_at(data, bytes);
    return add_segment(group, segment, [&](const rma::Group& in) {
      return rma::Segment::use(in, memory, {.notifications = notifications});
    });
  });
}

int32_t dovetail_rma_segment_end(dovetail_rma_segment* segment, const char* objection) {
  return guarded(__func__, [&]() -> int32_t {
    given(segment, "segment").segment.end(objection != nullptr ? objection : "");
    return 0;
  });
}

void* dovetail_rma_segment_data(const dovetail_rma_segment* segment) {
  return segment != nullptr ? segment->segment.data() : nullptr;
}

size_t dovetail_rma_segment_size(const dovetail_rma_segment* segment) {
  return segment != nullptr ? segment->segment.size() : 0;
}

int32_t dovetail_rma_segment_id(const dovetail_rma_segment* segment) {
  return guarded(__func__, [&]() -> int32_t { return own(segment).id(); });
}

uint32_t dovetail_rma_segment_notifications(const dovetail_rma_segment* segment) {
  return segment != nullptr ? segment->segment.notifications() : 0;
}

int32_t dovetail_rma_write(const void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset) {
  return guarded(__func__, [&]() -> int32_t {
    rma::write(bytes_at(data, bytes), remote(rank, segment, offset));
    return 0;
  });
}

int32_t dovetail_rma_read(void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset) {
  return guarded(__func__, [&]() -> int32_t {
    rma::read(bytes_at(data, bytes), remote(rank, segment, offset));
    return 0;
  });
}

int32_t dovetail_rma_write_list(const dovetail_rma_transfer* parts, size_t count) {
  return guarded(__func__, [&]() -> int32_t {
    rma::write_list(transfers(parts, count));
    return 0;
  });
}

int32_t dovetail_rma_read_list(const dovetail_rma_transfer* parts, size_t count) {
  return guarded(__func__, [&]() -> int32_t {
    rma::read_list(transfers(parts, count));
    return 0;
  });
}

int32_t dovetail_rma_notify(int32_t rank, uint32_t segment, uint32_t id, uint32_t value) {
  return guarded(__func__, [&]() -> int32_t {
    rma::notify(rank, segment_number(segment), {.id = id, .value = value});
    return 0;
  });
}

int32_t dovetail_rma_write_notify(const void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset,
                                  uint32_t id, uint32_t value) {
  return guarded(__func__, [&]() -> int32_t {
    rma::write_notify(bytes_at(data, bytes), remote(rank, segment, offset), {.id = id, .value = value});
    return 0;
  });
}

int32_t dovetail_rma_write_list_notify(const dovetail_rma_transfer* parts, size_t count, uint32_t id, uint32_t value) {
  return guarded(__func__, [&]() -> int32_t {
    rma::write_list_notify(transfers(parts, count), {.id = id, .value = value});
    return 0;
  });
}

int32_t dovetail_rma_notify_await(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value, int32_t from) {
  return guarded(__func__, [&]() -> int32_t {
    rma::notify_await(own(segment), id, value, sender(from));
    return 0;
  });
}

int32_t dovetail_rma_notify_awaitall(const dovetail_rma_segment* segment, uint32_t first, uint32_t count,
                                     uint32_t* values, int32_t from) {
  return guarded(__func__, [&]() -> int32_t {
    rma::notify_awaitall(own(segment), first, count, values, sender(from));
    return 0;
  });
}

int32_t dovetail_rma_notify_wait(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value, int32_t from) {
  return guarded(__func__, [&]() -> int32_t {
    put(value, rma::notify_wait(own(segment), id, sender(from)));
    return 0;
  });
}

int32_t dovetail_rma_notify_wait_any(const dovetail_rma_segment* segment, uint32_t first, uint32_t count, uint32_t* id,
                                     uint32_t* value, int32_t from) {
  return guarded(__func__, [&]() -> int32_t {
    given(id, "id");
    const rma::Notified found = rma::notify_wait_any(own(segment), first, count, sender(from));
    *id = found.id;
    put(value, found.value);
    return 0;
  });
}

int32_t dovetail_rma_notify_test(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value) {
  return guarded(__func__, [&]() -> int32_t {
    const auto taken = rma::notify_test(own(segment), id);
    if (taken) {
      put(value, *taken);
    }
    return taken ? 1 : 0;
  });
}

int32_t dovetail_rma_fetch_add(int32_t rank, uint32_t segment, int64_t offset, int64_t added, int64_t* before) {
  return guarded(__func__, [&]() -> int32_t {
    given(before, "before");
    *before = static_cast<int64_t>(rma::fetch_add(remote(rank, segment, offset), static_cast<uint64_t>(added)));
    return 0;
  });
}

int32_t dovetail_rma_compare_swap(int32_t rank, uint32_t segment, int64_t offset, int64_t expected, int64_t wanted,
                                  int64_t* before) {
  return guarded(__func__, [&]() -> int32_t {
    given(before, "before");
    *before = static_cast<int64_t>(rma::compare_swap(remote(rank, segment, offset), static_cast<uint64_t>(expected),
                                                     static_cast<uint64_t>(wanted)));
    return 0;
  });
}

int32_t dovetail_rma_inbox_open(dovetail_rma_group* group, uint32_t bytes, uint32_t messages,
                                dovetail_rma_inbox** inbox) {
  return guarded(__func__, [&]() -> int32_t {
    return add(group, &dovetail_rma_group::inboxes, inbox, "inbox",
               [&](const rma::Group& in) { return rma::Inbox::open(in, {.bytes = bytes, .messages = messages}); });
  });
}

int32_t dovetail_rma_inbox_send(const dovetail_rma_inbox* inbox, const void* data, size_t bytes, int32_t rank) {
  return guarded(__func__, [&]() -> int32_t {
    own(inbox).send(rank, bytes_at(data, bytes));
    return 0;
  });
}

int32_t dovetail_rma_inbox_receive(const dovetail_rma_inbox* inbox, void* data, size_t bytes, int32_t* rank,
                                   size_t* received) {
  return guarded(__func__, [&]() -> int32_t {
    given(rank, "rank");
    given(received, "received");
    put(own(inbox).receive(bytes_at(data, bytes)), rank, received);
    return 0;
  });
}

int32_t dovetail_rma_inbox_try_receive(const dovetail_rma_inbox* inbox, void* data, size_t bytes, int32_t* rank,
                                       size_t* received) {
  return guarded(__func__, [&]() -> int32_t {
    given(rank, "rank");
    given(received, "received");
    const auto taken = own(inbox).try_receive(bytes_at(data, bytes));
    if (taken) {
      put(*taken, rank, received);
    }
    return taken ? 1 : 0;
  });
}

}  // extern "C"
