// The endpoint of this process in a fabric: what libfabric does for Dovetail, and nothing of what Dovetail makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/rma/operation.hpp"

namespace dovetail::comm::rma {

struct FabricOptions {
  /// The provider is the one that DOVETAIL_FABRIC names.
  static FabricOptions from_environment();

  std::string
      provider;  ///< As libfabric names it: "tcp;ofi_rxm", "verbs;ofi_rxm", "efa", "cxi". Empty: the first that will do.
  std::string
      local_address;  ///< Of the interface that reaches the others, where the provider uses addresses of the Internet.
  /// @name Less than a provider offers, for tests
  /// @{
  bool may_order = true;
  bool may_skip_registration = true;
  bool may_carry_data = true;
  bool may_sleep = true;
  /// @}
};

/// What an endpoint has found.
class FabricEvents {
 public:
  virtual void operation_ended(Operation& ended, const std::string& failure) noexcept = 0;  ///< Empty: it succeeded.
  virtual void data_arrived(std::uint64_t data) noexcept = 0;
  virtual void message_arrived(const Message& message) noexcept = 0;
  /// Nothing works any more.
  virtual void broke(const std::string& failure) noexcept = 0;

 protected:
  ~FabricEvents() = default;
};

/// One thread at a time calls any of these.
class FabricEndpoint {
 public:
  /// Loads libfabric. @throws std::runtime_error, with what is missing
  static std::unique_ptr<FabricEndpoint> open(const FabricOptions& options);
  virtual ~FabricEndpoint() = default;

  virtual const std::string& provider() const noexcept = 0;
  /// For users: "libfabric (tcp;ofi_rxm)".
  std::string name() const { return "libfabric (" + provider() + ")"; }
  /// What other endpoints of the same provider are given.
  virtual std::vector<std::byte> address() const = 0;
  /// @throws std::runtime_error
  virtual void add_peer(int rank, std::span<const std::byte> address) = 0;
  /// Others may read and write it. @throws std::runtime_error
  virtual std::unique_ptr<Registration> register_memory(std::span<std::byte> memory) = 0;
  /// Whether what is written is there before what is posted afterwards to the same rank arrives.
  virtual bool is_ordered() const noexcept = 0;
  /// Whether 8 bytes of data can come with a write.
  virtual bool carries_data() const noexcept = 0;

  enum class Posted : std::uint8_t {
    yes,
    later,  ///< There is no room, or no connection yet: `poll` makes some.
    never,  ///< See `failure`.
  };
  virtual Posted post(Operation& operation) = 0;
  virtual const std::string& failure() const noexcept = 0;
  /// Moves data, and tells what has ended or come. @returns How much that was.
  virtual unsigned poll(FabricEvents& events) noexcept = 0;
  /// What gets readable when a poll would find something; -1: nothing tells that.
  virtual int descriptor() const noexcept = 0;
  /// Whether the descriptor may be slept on now.
  virtual bool may_sleep() noexcept = 0;
};

}  // namespace dovetail::comm::rma
