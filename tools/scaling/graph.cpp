#include "graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace scaling {
namespace {

constexpr std::array all_variants{Variant::messages_only, Variant::two_sided, Variant::one_sided};

// `key_of(item)` is a task or `no_task`; `value_of(number, item)` is what is kept.
template <class Item, class Key, class Value>
Groups grouped(std::size_t tasks, const std::vector<Item>& items, const Key& key_of, const Value& value_of) {
  Groups made;
  made.begin.assign(tasks + 1, 0);
  for (const Item& item : items) {
    if (key_of(item) != no_task) {
      ++made.begin[key_of(item) + 1];
    }
  }
  for (std::size_t task = 0; task < tasks; ++task) {
    made.begin[task + 1] += made.begin[task];
  }
  made.of.resize(made.begin[tasks]);
  std::vector<std::uint64_t> next(made.begin.begin(), made.begin.end() - 1);
  for (std::size_t number = 0; number < items.size(); ++number) {
    if (const std::uint32_t task = key_of(items[number]); task != no_task) {
      made.of[next[task]++] = value_of(number, items[number]);
    }
  }
  return made;
}

}  // namespace

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::messages_only:
      return "messages-only";
    case Variant::two_sided:
      return "two-sided";
    case Variant::one_sided:
      return "one-sided";
  }
  return "unknown";
}

Variant variant_of(const std::string& name) {
  for (const Variant variant : all_variants) {
    if (name == name_of(variant)) {
      return variant;
    }
  }
  throw BadInput("the variant is '" + name + "', but must be messages-only, two-sided or one-sided");
}

std::uint16_t Graph::name(const std::string& text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    names.push_back(text);
    return static_cast<std::uint16_t>(names.size() - 1);
  }
  return static_cast<std::uint16_t>(found - names.begin());
}

double cost_of(const Costs& costs, const std::string& name) {
  const auto found = costs.find(name);
  if (found == costs.end()) {
    throw BadInput("what a task '" + name + "' costs is not known: give --cost '" + name + "=SECONDS'");
  }
  return found->second;
}

Groups successors_of(const Graph& graph, bool by_return) {
  return grouped(
      graph.tasks.size(), graph.edges,
      [by_return](const Edge& edge) { return edge.by_return == by_return ? edge.before : no_task; },
      [](std::size_t, const Edge& edge) { return edge.after; });
}

Groups sent_by(const Graph& graph) {
  return grouped(
      graph.tasks.size(), graph.messages, [](const Message& message) { return message.from_task; },
      [](std::size_t number, const Message&) { return static_cast<std::uint32_t>(number); });
}

}  // namespace scaling
