#include "comm/mpi/recorded.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "comm/mpi/begun_requests.hpp"
#include "comm/mpi/library.hpp"

namespace dovetail::comm::mpi::recorded {
namespace {

std::uint64_t number_of(const Operation& operation) noexcept {
  return operation.message != 0 ? operation.message : trace::number_of(&operation);
}
// Of a call that does both: no other operation has this address.
std::uint64_t number_of_sent(const Operation& operation) noexcept { return number_of(operation) + 1; }

std::uint32_t rank_in_world(const Channel& channel, int rank) noexcept {
  if (rank < 0) {
    return trace::unknown_number;
  }
  const auto place = static_cast<std::size_t>(rank);
  if (channel.ranks.empty()) {
    return static_cast<std::uint32_t>(rank);
  }
  return place < channel.ranks.size() && channel.ranks[place] >= 0 ? static_cast<std::uint32_t>(channel.ranks[place])
                                                                   : trace::unknown_number;
}

std::uint32_t tag_of(int tag) noexcept { return tag < 0 ? trace::unknown_number : static_cast<std::uint32_t>(tag); }

// It takes a message that another call receives: from then on no other one can get that.
bool is_matched_probe(const Description& description) noexcept {
  return std::string_view(description.call) == "MPI_Mprobe";
}

bool is_message(const Operation& operation) noexcept {
  const Description& description = operation.description;
  return description.has_communicator && !description.may_be_freed &&
         (!operation.is_attempt || description.exchanges || is_matched_probe(description));
}

// Of up to 8 bytes; the others are 0.
std::uint64_t request_in(const std::byte* bytes) noexcept {
  std::uint64_t handle = 0;
  std::memcpy(&handle, bytes, sizeof handle);
  return handle;
}
std::uint64_t request_of(const void* request, const Library& library) noexcept {
  std::uint64_t handle = 0;
  std::memcpy(&handle, request, library.request_size());
  return handle;
}

void send(std::uint64_t message, const Channel& channel, int rank, int tag, std::uint64_t bytes = 0) noexcept {
  if (const std::uint32_t peer = rank_in_world(channel, rank); peer != trace::unknown_number) {
    trace::send_posted(message, channel.name, peer, tag_of(tag), bytes);
  }
}

}  // namespace

// A request that the program has started is its message, which began there.
void begin(Operation& operation) noexcept {
  if (operation.is_started) {
    if (const auto begun = BegunRequests::of_process().take_message(request_in(operation.request.data()))) {
      operation.message = begun->message;
      operation.channel = begun->channel;
      return;
    }
  }
  const Task* const task = operation.wait != nullptr ? operation.wait->task : operation.task;
  trace::message_begun(number_of(operation), trace::number_of(task), operation.description.call);
  if (operation.description.exchanges) {
    trace::message_begun(number_of_sent(operation), trace::number_of(task), operation.description.call);
  }
}

void post(Operation& operation, Library& library) noexcept {
  const Description& description = operation.description;
  operation.channel = is_message(operation) ? library.channel_of(description.communicator) : nullptr;
  if (operation.channel == nullptr) {
    return;
  }
  if (description.receives && description.peer != detail::mpi::no_peer && !is_matched_probe(description)) {
    trace::receive_posted(number_of(operation), operation.channel->name);
  } else if (!description.receives && description.peer >= 0) {
    send(number_of(operation), *operation.channel, description.peer, description.tag,
         description.has_size ? library.bytes_of(description) : 0);
  }
  if (description.exchanges) {
    send(number_of_sent(operation), *operation.channel, description.sent_to, description.sent_tag);
  }
}

// Of a call without a request, MPI's status is the caller's.
void end(const Operation& operation) noexcept {
  const Description& description = operation.description;
  detail::mpi::Found found{operation.source, operation.received_tag};
  if (operation.is_attempt) {
    found = description.found != nullptr ? *description.found : detail::mpi::Found{description.peer, description.tag};
  }
  if (operation.channel != nullptr && is_matched_probe(description)) {
    trace::receive_posted(number_of(operation), operation.channel->name);
  }
  if (operation.channel != nullptr && description.receives && found.tag >= 0) {
    trace::message_ended(number_of(operation), rank_in_world(*operation.channel, found.source), tag_of(found.tag));
  } else {
    trace::message_ended(number_of(operation));
  }
  if (description.exchanges) {
    trace::message_ended(number_of_sent(operation));
  }
}

int start_for_program(const BegunCall& call, const Description& description, const Start& start, void* request,
                      Library& library) {
  const BegunRequest begun{.call = &call,
                           .communicator = description.communicator,
                           .peer = description.peer,
                           .tag = description.tag,
                           .message = BegunRequests::next_number(),
                           .channel = library.channel_of(description.communicator)};
  trace::message_begun(begun.message, trace::number_of(tasking::task_that_binds()), description.call);
  if (begun.channel != nullptr && description.peer != detail::mpi::no_peer) {
    if (description.receives) {
      trace::receive_posted(begun.message, begun.channel->name);
    } else {
      send(begun.message, *begun.channel, description.peer, description.tag);
    }
  }
  const int code = start.function(start.closure.data(), request);
  std::uint64_t ended = begun.message;
  if (code == 0 && !library.is_null(request)) {
    // MPI gives a handle again only after its request has ended. The program has learned of that end by another call, such as MPI_Test.
    ended = BegunRequests::of_process().add(request_of(request, library), begun);
  }
  if (ended != 0) {
    trace::message_ended(ended);
  }
  return code;
}

void end_for_program(const void* request, const Library& library, const detail::mpi::Found& found) noexcept {
  const auto begun = BegunRequests::of_process().take_message(request_of(request, library));
  if (begun && begun->channel != nullptr && begun->call->receives && found.tag >= 0) {
    trace::message_ended(begun->message, rank_in_world(*begun->channel, found.source), tag_of(found.tag));
  } else if (begun) {
    trace::message_ended(begun->message);
  }
}

}  // namespace dovetail::comm::mpi::recorded
