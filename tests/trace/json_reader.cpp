#include "json_reader.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <vector>

namespace dovetail::trace::test {
namespace {

using nlohmann::json;

/// Refuses an object with a key twice, which a document in memory would not show.
class UniqueKeys : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) throw std::runtime_error("the key '" + key + "' is there twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw std::runtime_error(error.what());
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

json read_json(std::string_view text) {
  UniqueKeys check;
  json::sax_parse(text, &check);
  return json::parse(text);
}

json read_json_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return read_json(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace dovetail::trace::test
