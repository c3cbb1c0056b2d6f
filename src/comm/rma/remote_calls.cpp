#include "comm/rma/remote_calls.hpp"

#include <memory>

#include "comm/rma/waiting.hpp"
#include "tasking/moved_bytes.hpp"

namespace dovetail::comm::rma {
namespace {

using dovetail::rma::Remote;
using dovetail::rma::Transfer;

constexpr const char* only_in_bodies = "it belongs into a body";

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
  const auto begin = [&](RemoteCall& call) {
    Fabric::begin(call);
    post(&call);
    return fabric.is_ended_by_caller(call);
  };
  const bool is_small = data.size() <= dovetail::rma::most_copied_bytes;
  if (is_small && (tasking::task_in_onready() != nullptr || !fabric.is_crowded(to.rank))) {
    post(nullptr);
  } else if (Task* const task = tasking::task_that_binds(); task != nullptr && !is_small) {
    auto call = std::make_unique<RemoteCall>();
    describe(*call, "write", to, data.size());
    bind(task, std::move(call), begin);
  } else {
    RemoteCall call;
    describe(call, "write", to, data.size());
    wait(in, call, only_in_bodies, [&] { return begin(call); });
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
  wait(in, call, only_in_bodies, [&] {
    Fabric::begin(call);
    for (const Transfer& part : parts) {
      if (!part.local.empty()) {
        in.fabric()->read(part.remote.rank, memory_at(in, part.remote), part.local, call);
      }
    }
    return in.fabric()->is_ended_by_caller(call);
  });
}

std::uint64_t change_at_node(Group& in, const Remote& at, Message request) {
  request.segment = at.segment;
  request.first = at.offset;
  std::uint64_t before = 0;
  RemoteCall call;
  describe(call, "atomic operation", at, sizeof before);
  wait(in, call, only_in_bodies, [&] {
    Fabric::begin(call);
    in.fabric()->change(at.rank, request, before, call);
    return in.fabric()->is_ended_by_caller(call);
  });
  return before;
}

}  // namespace dovetail::comm::rma
