/// @file
/// What the variants with tasks have in common: the tasks that compute, and those that move pieces.
#pragma once

#include <cstddef>
#include <memory>

#include "dovetail/dovetail.hpp"
#include "messages/bound_messages.hpp"
#include "variant.hpp"

namespace refinement {

/// A variant spawns the tasks of the stages; `add_up` and `move` are the same for all.
class TaskVariant : public Variant {
 public:
  void begin(Field& field, const Exchange& exchange) override;
  void run(int stages) override;
  void move(const Moves& moves, Field& from, int stage, Field& to) override;

 protected:
  explicit TaskVariant(int workers) : runtime_({.workers = static_cast<unsigned>(workers)}) {}
  /// Before anything else is called.
  void use(std::unique_ptr<messages::BoundMessages> messages) { messages_ = std::move(messages); }

  /// Called in a task; what they spawn are its children. Before the first stage:
  virtual void spawn_begin() {}
  virtual void spawn_stage(int stage, bool is_last) = 0;

  dovetail::Runtime& runtime() noexcept { return runtime_; }
  messages::BoundMessages& messages() noexcept { return *messages_; }
  Field& field() noexcept { return *field_; }
  const Exchange& exchange() const noexcept { return *exchange_; }

 private:
  dovetail::Runtime runtime_;
  std::unique_ptr<messages::BoundMessages> messages_;
  Field* field_ = nullptr;
  const Exchange* exchange_ = nullptr;
};

/// Bytes of a message.
inline int bytes_of(std::span<const double> values) noexcept { return static_cast<int>(values.size_bytes()); }
/// Other ranks wait for what a message brings: its task comes before those that compute.
inline constexpr int message_priority = 1;

}  // namespace refinement
