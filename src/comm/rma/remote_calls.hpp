// Calls of the program for memory of another node. The places have been checked.
#pragma once

#include <cstdint>
#include <span>

#include "comm/rma/group.hpp"
#include "comm/rma/mailbox.hpp"
#include "dovetail/rma.hpp"

namespace dovetail::comm::rma {

/// Small data is copied; other data is bound to the task. Outside of tasks, or where too much is under way, it waits until it has been sent.
/// `notification`: null, or what follows. @returns Whether that is on its way.
bool write_to_node(Group& in, const dovetail::rma::Remote& to, std::span<const std::byte> data,
                   const Notification* notification);
/// Waits for all. @throws dovetail::rma::Error, std::logic_error in an onready
void read_from_nodes(Group& in, std::span<const dovetail::rma::Transfer> parts);
/// `request`: of an atomic operation, without its place, which the owner of the memory does. @returns What was there. @throws As `read_from_nodes`
std::uint64_t change_at_node(Group& in, const dovetail::rma::Remote& at, Message request);

}  // namespace dovetail::comm::rma
