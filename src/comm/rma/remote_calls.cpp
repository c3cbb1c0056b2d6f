#include "comm/rma/remote_calls.hpp"

#include <exception>
#include <memory>

#include "comm/rma/waiting.hpp"
#include "tasking/moved_bytes.hpp"

namespace dovetail::comm::rma {
namespace {

using dovetail::rma::Remote;
using dovetail::rma::Transfer;

RemoteMemory memory_at(Group& in, const Remote& at) {
  RemoteMemory memory = in.segment(at.rank, at.segment).of_fabric;
  memory.address += at.offset;
  return memory;
}

void describe(RemoteCall& call, const char* what, const Remote& at, std::uint64_t bytes) {
  call.what = what;
  call.rank = at.rank;
  call.segment = at.segment;
  call.offset = at.offset;
  call.bytes = bytes;
}

// @returns Whether it has ended. Parts that are under way refer to the call until then, also where a later part could not be posted.
template <class Post>
bool begin(Fabric& fabric, RemoteCall& call, const Post& post) {
  Fabric::begin(call);
  std::exception_ptr cause;
  try {
    post();
  } catch (...) {
    cause = std::current_exception();
  }
  return fabric.is_ended_by_caller(call, cause);
}

template <class Post>
void wait_for(Group& in, RemoteCall& call, const Post& post) {
  Fabric& fabric = *in.fabric();
  wait(in, call, only_in_bodies, [&] { return begin(fabric, call, post); }, [&] { return fabric.abandon(call); });
}

}  // namespace

bool write_to_node(Group& in, const Remote& to, std::span<const std::byte> data, const Notification* notification) {
  Fabric& fabric = *in.fabric();
  const RemoteMemory place = memory_at(in, to);
  bool is_sent = true;
  tasking::count_moved(data.size());
  const auto post = [&](RemoteCall* call) {
    if (notification != nullptr) {
      is_sent = in.write_notify(in.peer(to.rank), place, data, *notification, call);
    } else {
      fabric.write(to.rank, place, data, nullptr, call);
    }
  };
  const bool is_small = data.size() <= dovetail::rma::most_copied_bytes;
  if (is_small && (tasking::task_in_onready() != nullptr || !fabric.is_crowded(to.rank))) {
    post(nullptr);
  } else if (Task* const task = tasking::task_that_binds(); task != nullptr && !is_small) {
    auto call = std::make_unique<RemoteCall>();
    describe(*call, "write", to, data.size());
    bind_to_task(task, std::move(call),
                 [&](RemoteCall& entered) { return begin(fabric, entered, [&] { post(&entered); }); });
  } else {
    RemoteCall call;
    describe(call, "write", to, data.size());
    wait_for(in, call, [&] { post(&call); });
  }
  return is_sent;
}

void read_from_nodes(Group& in, std::span<const Transfer> parts) {
  if (parts.empty()) {
    return;
  }
  std::uint64_t bytes = 0;
  for (const Transfer& part : parts) {
    bytes += part.local.size();
  }
  tasking::count_moved(bytes);
  RemoteCall call;
  describe(call, "read", parts.front().remote, bytes);
  const auto post = [&] {
    for (const Transfer& part : parts) {
      if (!part.local.empty()) {
        in.fabric()->read(part.remote.rank, memory_at(in, part.remote), part.local, call);
      }
    }
  };
  wait_for(in, call, post);
}

std::uint64_t change_at_node(Group& in, const Remote& at, Message request) {
  request.segment = at.segment;
  request.first = at.offset;
  std::uint64_t before = 0;
  RemoteCall call;
  describe(call, "atomic operation", at, sizeof before);
  const auto post = [&] { in.fabric()->change(at.rank, request, before, call); };
  wait_for(in, call, post);
  return before;
}

}  // namespace dovetail::comm::rma
