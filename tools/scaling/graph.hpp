// The tasks of all ranks of a program, what each waits for, and the messages between them.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace scaling {

/// What the user gave and cannot be used, as a sentence.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How a program communicates. The names are those of the examples' option `--variant`.
enum class Variant : std::uint8_t { messages_only, two_sided, one_sided };
const char* name_of(Variant variant) noexcept;
/// @throws BadInput
Variant variant_of(const std::string& name);

/// For a message that no task sends: it is sent when the program begins.
inline constexpr std::uint32_t no_task = 0xffff'ffff;
/// What the examples give to tasks that other ranks wait for. Other tasks have 0.
inline constexpr std::uint8_t message_priority = 1;

/// One body. Its number is its place in `Graph::tasks`.
struct Task {
  std::uint32_t rank = 0;
  std::uint16_t name = 0;  ///< In `Graph::names`.
  std::uint8_t priority =
      0;  ///< Of the ready tasks of a rank, those of the highest priority begin first, then those with the lowest number.
  bool ends_by_message = false;  ///< What it receives must have come for it to complete; else, for it to begin.
  double seconds = 0;            ///< That its body computes.
};

/// A task has completed when its body has ended, and what it sends has gone, and what it receives has come.
struct Edge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  bool by_return =
      false;  ///< The second one may begin when the body of the first has ended; else, when the first has completed.
};

struct Message {
  std::uint32_t from_rank = 0;
  std::uint32_t to_rank = 0;
  std::uint32_t from_task = no_task;  ///< It is sent when this one's body ends.
  std::uint32_t to_task = no_task;    ///< The task that waits for the message; or `no_task`.
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
};

struct Graph {
  Variant variant = Variant::two_sided;
  std::uint32_t ranks = 0;
  std::vector<std::string> names;
  std::vector<Task> tasks;
  std::vector<Edge> edges;
  std::vector<Message> messages;

  /// The number of a name, which is added if it is new.
  std::uint16_t name(const std::string& text);
};

/// Seconds that a body of each name computes, as they were recorded. @throws BadInput for one that is not there.
using Costs = std::map<std::string, double>;
double cost_of(const Costs& costs, const std::string& name);

/// For each task, in `of`, the numbers of what belongs to it: those from `begin[task]` to `begin[task + 1]`.
struct Groups {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint32_t> of;
};
/// By edges that ask for the end of the body, or by the others.
Groups successors_of(const Graph& graph, bool by_return);
Groups sent_by(const Graph& graph);

}  // namespace scaling
