#include "device/configuration.hpp"

#include <fcntl.h>
#include <unistd.h>

// toml++ asserts what the input can violate, though it refuses it a little later: an assertion would end the program, and
// with NDEBUG clang is told to assume it.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 1
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/plain_file.hpp"
#include "base/zero_byte.hpp"

namespace dovetail::device {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "dovetail.toml";
constexpr std::size_t most_bytes = 256 * 1024;
// A key `a.b.c` makes a table in a table in a table, and freeing them takes stack for each. A key cannot go over the end of a line,
// so that this and the limit on nested values bound the depth.
constexpr std::ptrdiff_t most_dots_in_line = 64;

// The user named it, wherever it lies and whoever wrote it.
constexpr base::FileRules named_rules{.follow_links = true, .of_anyone = true, .most_bytes = most_bytes};

std::string environment(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

fs::path user_folder() {
  if (const std::string folder = environment("XDG_CONFIG_HOME"); !folder.empty()) {
    return fs::path(folder) / "dovetail";
  }
  const std::string home = environment("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".config" / "dovetail";
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A file that lies where it is looked for, without having been named, may have been laid there by somebody else: in a folder
// that all may write, say. Then it is as if there were none, which is said.
bool is_the_users(const fs::path& path, bool follow_links) {
  const base::OpenedFile opened = base::open_plain_file(path.string(), O_RDONLY, {.follow_links = follow_links});
  if (opened.descriptor >= 0) {
    ::close(opened.descriptor);
    return true;
  }
  if (opened.error != ENOENT && opened.error != ENOTDIR) {
    std::fprintf(stderr, "dovetail: the configuration '%s' is ignored: %s; name it in DOVETAIL_CONFIG if it is meant\n",
                 path.c_str(), opened.why.c_str());
  }
  return false;
}

class Reader {
 public:
  Reader(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  std::vector<StorageDevice> read() {
    require_text();
    require_shallow();
    toml::table table;
    try {
      table = toml::parse(text_, file_);
    } catch (const toml::parse_error& error) {
      refuse(error.source().begin.line, std::string(error.description()));
    }
    std::vector<StorageDevice> devices;
    for (const auto& [key, node] : table) {
      if (key.str() != "device") {
        continue;  // for other parts of Dovetail
      }
      const toml::array* const list = node.as_array();
      if (list == nullptr) {
        refuse(node.source().begin.line, "'device' must be a list of tables: write [[device]]");
      }
      for (const toml::node& entry : *list) {
        const toml::table* const fields = entry.as_table();
        if (fields == nullptr) {
          refuse(entry.source().begin.line, "a device must be a table: write [[device]]");
        }
        devices.push_back(device(*fields));
      }
    }
    require_distinct(devices);
    return devices;
  }

 private:
  [[noreturn]] void refuse(unsigned line, const std::string& why) const {
    constexpr std::size_t longest = 300;  // a message may repeat a key, which is as long as whoever wrote it liked
    const std::string shown = why.size() > longest ? why.substr(0, longest) + "..." : why;
    throw std::invalid_argument(file_ + ":" + std::to_string(line) + ": " + shown);
  }

  // TOML allows none of them anywhere, and toml++ takes some of them for a defect of its own.
  void require_text() const {
    const auto forbidden = [](char character) {
      const auto value = static_cast<unsigned char>(character);
      return (value < 0x20 && value != '\t' && value != '\n' && value != '\r') || value == 0x7F;
    };
    const auto found = std::find_if(text_.begin(), text_.end(), forbidden);
    if (found != text_.end()) {
      refuse(static_cast<unsigned>(1 + std::count(text_.begin(), found, '\n')),
             "there is a control character: is this a text?");
    }
  }

  void require_shallow() const {
    unsigned line = 1;
    for (std::size_t begin = 0; begin < text_.size(); ++line) {
      const std::string_view rest = text_.substr(begin, text_.find('\n', begin) - begin);
      if (std::count(rest.begin(), rest.end(), '.') > most_dots_in_line) {
        refuse(line, "there are more than " + std::to_string(most_dots_in_line) +
                         " dots in this line: write each path of a list on a line of its own");
      }
      begin += rest.size() + 1;
    }
  }

  StorageDevice device(const toml::table& fields) const {
    StorageDevice result;
    result.configured = true;
    for (const auto& [name, node] : fields) {
      const unsigned line = node.source().begin.line;
      const std::string key(name.str());
      if (key == "name") {
        result.name = text(node, key);
      } else if (key == "paths") {
        const toml::array* const list = node.as_array();
        if (list == nullptr) {
          refuse(line, "'paths' must be a list of folders, such as [\"/scratch\"]");
        }
        for (const toml::node& path : *list) {
          result.paths.push_back(folder(text(path, "paths"), line));
        }
      } else if (key == "read" || key == "write") {
        (key == "read" ? result.read_mb_per_second : result.write_mb_per_second) = bandwidth(node, key);
      } else if (key == "shared") {
        if (!node.is_boolean()) {
          refuse(line, "'shared' must be true (used by several machines) or false (node-local)");
        }
        result.shared = node.as_boolean()->get();
      } else if (key == "most_at_once") {
        result.most_at_once = count(node, key);
      } else {
        refuse(line,
               "a device has no '" + key + "'; known are name, paths, read, write (MB/s), shared and most_at_once");
      }
    }
    const unsigned line = fields.source().begin.line;
    if (result.name.empty()) {
      refuse(line, "a device needs a 'name'");
    }
    if (result.name.find('/') != std::string::npos) {
      refuse(line, "the name '" + result.name + "' contains a '/': it could not be told from a path");
    }
    return result;
  }

  std::string text(const toml::node& node, const std::string& key) const {
    if (!node.is_string() || node.as_string()->get().empty()) {
      refuse(node.source().begin.line, "'" + key + "' must be a text that is not empty");
    }
    return node.as_string()->get();
  }

  double bandwidth(const toml::node& node, const std::string& key) const {
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value) || *value <= 0) {
      refuse(node.source().begin.line, "'" + key + "' must be a number of MB/s greater than 0");
    }
    return *value;
  }

  unsigned count(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > std::numeric_limits<unsigned>::max()) {
      refuse(node.source().begin.line, "'" + key + "' must be a number of tasks, at least 1");
    }
    return static_cast<unsigned>(*value);
  }

  // A relative path is meant from where the file lies.
  std::string folder(const std::string& written, unsigned line) const {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(fs::path(file_).parent_path() / written, error);
    if (error) {
      refuse(line, "path '" + written + "': " + error.message());
    }
    const std::string path = canonical.lexically_normal().string();
    return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
  }

  void require_distinct(const std::vector<StorageDevice>& devices) const {
    std::set<std::string> names;
    std::set<std::string> paths;
    for (const StorageDevice& device : devices) {
      if (!names.insert(device.name).second) {
        throw std::invalid_argument(file_ + ": two devices are called '" + device.name + "'");
      }
      for (const std::string& path : device.paths) {
        if (!paths.insert(path).second) {
          throw std::invalid_argument(file_ + ": the path '" + path + "' is given twice");
        }
      }
    }
  }

  const std::string file_;
  const std::string_view text_;
};

}  // namespace

std::string configuration_file(const std::string& given) {
  std::string named = given;
  std::string who = "configuration file";
  if (named.empty()) {
    named = environment("DOVETAIL_CONFIG");
    who = "DOVETAIL_CONFIG";
  }
  if (base::has_zero_byte(named)) {
    throw std::invalid_argument(who + " '" + base::show_zero_bytes(named) + "': a path must not contain a zero byte");
  }
  if (!named.empty()) {
    if (!is_there(named)) {
      throw std::invalid_argument(who + " '" + named + "' does not exist");
    }
    return fs::canonical(named).string();
  }
  const fs::path here = fs::path(file_name);
  if (is_the_users(here, false)) {
    return fs::canonical(here).string();
  }
  // The folder is the user's own: a link in it was made by the user.
  const fs::path folder = user_folder();
  const fs::path user = folder / file_name;
  return !folder.empty() && is_the_users(user, true) ? fs::canonical(user).string() : std::string();
}

std::vector<StorageDevice> read_configuration(const std::string& file) {
  const base::FileText read = base::read_plain_file(file, named_rules);
  if (!read.why.empty()) {
    throw std::invalid_argument("configuration file '" + file + "': " + read.why);
  }
  return parse_configuration(file, read.text);
}

std::vector<StorageDevice> parse_configuration(const std::string& file, std::string_view text) {
  return Reader(file, text).read();
}

}  // namespace dovetail::device
