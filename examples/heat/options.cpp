#include "options.hpp"

#include <charconv>
#include <functional>
#include <limits>
#include <map>

namespace heat {
namespace {

constexpr std::size_t largest_side = std::size_t{1} << 20;

std::optional<std::size_t> whole_number(const std::string& text, std::size_t least, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return {};
  }
  return value;
}

std::size_t number(const std::string& option, const std::string& text, std::size_t least, std::size_t most) {
  const auto value = whole_number(text, least, most);
  if (!value) {
    throw BadInput(option + " is '" + text + "': it must be a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most));
  }
  return *value;
}

Size size_of(const std::string& text) {
  const std::size_t cross = text.find('x');
  const std::string rows = text.substr(0, cross);
  const std::string columns = cross == std::string::npos ? rows : text.substr(cross + 1);
  const auto height = whole_number(rows, 3, largest_side);
  const auto width = whole_number(columns, 3, largest_side);
  if (!height || !width) {
    throw BadInput("--size is '" + text + "': it must be rows, or rows and columns as in 600x800, from 3 to " +
                   std::to_string(largest_side));
  }
  return {*height, *width};
}

template <class T>
T one_of(const std::string& option, const std::string& text, const std::map<std::string, T>& choices) {
  if (const auto found = choices.find(text); found != choices.end()) {
    return found->second;
  }
  std::string known;
  for (const auto& choice : choices) {
    known += (known.empty() ? "" : ", ") + choice.first;
  }
  throw BadInput(option + " is '" + text + "': it must be one of " + known);
}

using Setter = std::function<void(Options&, const std::string&)>;

const std::map<std::string, Setter>& options_with_value() {
  constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max() / 2;
  static const std::map<std::string, Setter> setters{
      {"--size", [](Options& o, const std::string& v) { o.size = size_of(v); }},
      {"--block", [](Options& o, const std::string& v) { o.block = number("--block", v, 1, largest_side); }},
      {"--steps", [](Options& o, const std::string& v) { o.steps = number("--steps", v, 0, unlimited); }},
      {"--checkpoint-every",
       [](Options& o, const std::string& v) { o.checkpoint_every = number("--checkpoint-every", v, 0, unlimited); }},
      {"--copies", [](Options& o, const std::string& v) { o.copies = number("--copies", v, 0, 16); }},
      {"--workers",
       [](Options& o, const std::string& v) { o.workers = static_cast<unsigned>(number("--workers", v, 0, 4096)); }},
      {"--io",
       [](Options& o, const std::string& v) {
         o.io = one_of<IoKind>("--io", v,
                               {{"plain", IoKind::plain}, {"pausing", IoKind::pausing}, {"bound", IoKind::bound}});
       }},
      {"--direct",
       [](Options& o, const std::string& v) {
         o.direct = one_of<dovetail::Direct>(
             "--direct", v, {{"never", dovetail::Direct::never}, {"automatic", dovetail::Direct::automatic}});
       }},
      {"--directory", [](Options& o, const std::string& v) { o.directory = v; }},
      {"--field", [](Options& o, const std::string& v) { o.field = v; }},
      {"--trace", [](Options& o, const std::string& v) { o.trace = v; }},
      {"--json", [](Options& o, const std::string& v) { o.json = v; }},
  };
  return setters;
}

void check(const Options& options) {
  if (options.help) {
    return;
  }
  if (options.directory.empty()) {
    throw BadInput("--directory is missing: say where checkpoints and the final field go");
  }
  if (options.field.empty() && !options.restart) {
    throw BadInput("--field is missing: make one with prepare_field.py, or continue a run with --restart");
  }
  if (!options.field.empty() && options.restart) {
    throw BadInput("--field and --restart exclude each other: a restarted run takes its field from a checkpoint");
  }
}

}  // namespace

const char* name_of(IoKind kind) noexcept {
  switch (kind) {
    case IoKind::plain:
      return "plain";
    case IoKind::pausing:
      return "pausing";
    case IoKind::bound:
      return "bound";
  }
  return "unknown";
}

Options parse_options(const std::vector<std::string>& arguments) {
  const std::map<std::string, bool Options::*> switches{{"--restart", &Options::restart},
                                                        {"--progress", &Options::progress},
                                                        {"--help", &Options::help},
                                                        {"-h", &Options::help}};
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equals);
    if (const auto found = switches.find(name); found != switches.end()) {
      if (equals != std::string::npos) {
        throw BadInput(name + " takes no value");
      }
      options.*found->second = true;
      continue;
    }
    const auto setter = options_with_value().find(name);
    if (setter == options_with_value().end()) {
      throw BadInput("unknown option '" + arguments[i] + "' (--help lists all)");
    }
    std::string value;
    if (equals != std::string::npos) {
      value = arguments[i].substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      throw BadInput(name + " needs a value");
    }
    if (value.empty()) {
      throw BadInput(name + " has an empty value");
    }
    setter->second(options, value);
  }
  check(options);
  return options;
}

const char* usage() noexcept {
  return R"(heat: two-dimensional heat diffusion by Gauss-Seidel, with checkpoints that do not stop it

  heat --field FILE --directory DIR [options]     begin
  heat --restart --directory DIR [options]        go on from the newest complete checkpoint

  --field FILE           initial field, as prepare_field.py writes it
  --directory DIR        for checkpoint-0.heat to checkpoint-2.heat and final.heat; made if it is missing
  --size N | RxC         cells; the field is scaled to it (default: as the field file)
  --block N              side of a block in cells (default 256)
  --steps N              sweeps in all, those before a restart included (default 100)
  --checkpoint-every N   sweeps between checkpoints (default 0: the final field only)
  --io KIND              plain: pwrite(2) in the task, the core waits
                         pausing: the task pauses, the core goes on (default)
                         bound: the task returns, its completion waits
  --copies N             spare fields that checkpoints are written from (default 1); with 0 they are written
                         from the field itself, and a block waits for its write before it changes again
  --direct WHEN          never: through the page cache (default); automatic: past it where that is possible
  --workers N            compute workers (default: the cores)
  --restart              see above
  --trace FILE           write a trace that Perfetto opens (https://ui.perfetto.dev)
  --json FILE            write the report as JSON
  --progress             show progress on standard error

Exit status: 0 done, 1 failed on the way, 2 bad input.
)";
}

}  // namespace heat
