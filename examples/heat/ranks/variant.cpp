#include "variant.hpp"

#include <array>

namespace heat {
namespace {

constexpr std::array all_variants{Variant::messages_only, Variant::multiple, Variant::two_sided, Variant::one_sided};

Variant variant_of(const std::string& text) {
  std::string known;
  for (const Variant variant : all_variants) {
    if (text == name_of(variant)) {
      return variant;
    }
    known += (known.empty() ? "" : ", ") + std::string(name_of(variant));
  }
  throw BadInput("--variant is '" + text + "': it must be one of " + known);
}

}  // namespace

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::messages_only:
      return "messages-only";
    case Variant::multiple:
      return "multiple";
    case Variant::two_sided:
      return "two-sided";
    case Variant::one_sided:
      return "one-sided";
  }
  return "unknown";
}

RankOptions parse_rank_options(std::vector<std::string> arguments) {
  RankOptions options;
  const std::string name = "--variant";
  for (auto at = arguments.begin(); at != arguments.end();) {
    if (*at == name) {
      if (at + 1 == arguments.end()) {
        throw BadInput(name + " needs a value");
      }
      options.variant = variant_of(at[1]);
      at = arguments.erase(at, at + 2);
    } else if (at->starts_with(name + "=")) {
      options.variant = variant_of(at->substr(name.size() + 1));
      at = arguments.erase(at);
    } else {
      ++at;
    }
  }
  options.heat = parse_options(arguments);
  if (options.variant == Variant::messages_only) {
    options.heat.io = IoKind::plain;
    options.heat.workers = 1;
  }
  return options;
}

std::string rank_usage() {
  return std::string(R"(heat_ranks: heat, with the rows of blocks divided among the ranks of MPI

  mpiexec -n RANKS heat_ranks --variant VARIANT ...    and the options of heat, below

  --variant VARIANT      how rows get from rank to rank:
                         messages-only  MPI and no tasks: one thread a rank, I/O plain
                         multiple       tasks that call MPI themselves; all requests are polled each 150 us
                         two-sided      tasks with bound messages (default)
                         one-sided      tasks that write into the memory of other ranks
  --trace FILE           each rank appends its number to the name
  --json FILE            rank 0 writes it

Files, options and results are those of heat, whatever the number of ranks and the variant:

)") + usage();
}

}  // namespace heat
