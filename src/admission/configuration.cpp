#include "admission/configuration.hpp"

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/zero_byte.hpp"

namespace dovetail::admission {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "dovetail.toml";

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

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  std::vector<StorageDevice> read() {
    toml::table table;
    try {
      table = toml::parse_file(file_);
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
    throw std::invalid_argument(file_ + ":" + std::to_string(line) + ": " + why);
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
  if (is_there(here)) {
    return fs::canonical(here).string();
  }
  const fs::path user = user_folder() / file_name;
  return is_there(user) ? fs::canonical(user).string() : std::string();
}

std::vector<StorageDevice> read_configuration(const std::string& file) { return Reader(file).read(); }

}  // namespace dovetail::admission
