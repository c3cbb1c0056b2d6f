#include "results.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/bounded_json.hpp"
#include "base/plain_file.hpp"
#include "dovetail/failure.hpp"

namespace dovetail::tiom {
namespace {

constexpr const char* plan_format = "dovetail-tiom-sweep-2";
constexpr const char* lines_name = "points.jsonl";
constexpr const char* table_name = "points.csv";
constexpr const char* table_head =
    "mode,pattern,block,compute_ms,series,operations,variant,seconds,mib_per_second,spread,speedup,speedup_spread,"
    "over_baseline,efficiency,efficiency_plain,cpu_seconds,complete,baseline,model_seconds,model_limit,confirmation\n";

void append(int descriptor, const std::string& text, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) {
      throw IoError(errno, "write", path, 0, text.size() - done);
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  if (::fdatasync(descriptor) != 0) {
    throw IoError(errno, "fdatasync", path, 0, text.size());
  }
}

nlohmann::json json_of(const SweepPlan& plan) {
  return {{"format", plan_format},
          {"settings", plan.settings},
          {"points", plan.points},
          {"noise", plan.noise},
          {"confirm", plan.confirm},
          {"curve_random", plan.curve_random},
          {"curve_sequential", plan.curve_sequential}};
}

SweepPlan plan_of(const nlohmann::json& json) {
  if (json.at("format") != plan_format) {
    throw std::invalid_argument("its format is not " + std::string(plan_format));
  }
  SweepPlan plan;
  json.at("settings").get_to(plan.settings);
  json.at("points").get_to(plan.points);
  json.at("noise").get_to(plan.noise);
  json.at("confirm").get_to(plan.confirm);
  json.at("curve_random").get_to(plan.curve_random);
  json.at("curve_sequential").get_to(plan.curve_sequential);
  return plan;
}

nlohmann::json json_of(const PointResult& result) {
  nlohmann::json json = {{"index", result.index}, {"confirmation", result.confirmation}};
  if (result.error.empty()) {
    json["result"] = result.data;
  } else {
    json["error"] = result.error;
  }
  return json;
}

PointResult result_of(const nlohmann::json& json, std::size_t points) {
  PointResult result;
  json.at("index").get_to(result.index);
  if (result.index >= points) {
    throw std::invalid_argument("there is no point " + std::to_string(result.index));
  }
  json.at("confirmation").get_to(result.confirmation);
  result.error = json.value("error", "");
  result.data = json.value("result", nlohmann::json());
  return result;
}

constexpr base::FileRules rules{.of_anyone = true, .most_bytes = std::size_t{1} << 30};

int open_for_appending(const std::string& path, int flags) {
  const base::OpenedFile opened = base::open_plain_file(path, O_RDWR | O_APPEND | flags, {.of_anyone = true}, 0644);
  if (opened.descriptor < 0) {
    throw std::invalid_argument("'" + path + "': " + opened.why);
  }
  return opened.descriptor;
}

void lock(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    throw std::invalid_argument("another process is writing '" + path + "'");
  }
}

}  // namespace

// Without a whole first line there is nothing to continue, nor to lose: that sweep was killed while it wrote the line.
void refuse_used_folder(const std::string& path) {
  const std::string lines = path + "/" + lines_name;
  const base::FileText read = base::read_plain_file(lines, rules);
  if (!read.missing && !read.why.empty()) {
    throw std::invalid_argument("'" + lines + "': " + read.why);
  }
  if (read.text.find('\n') != std::string::npos) {
    throw std::invalid_argument("'" + path +
                                "' holds a sweep already: name another folder, or continue it with --resume " + path);
  }
}

ResultFolder ResultFolder::create(const std::string& path, const SweepPlan& plan) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw IoError(error.value(), "mkdir", path, 0, 0);
  }
  const std::string lines = path + "/" + lines_name;
  refuse_used_folder(path);
  ResultFolder folder(path, open_for_appending(lines, O_CREAT));
  lock(folder.lines_, path);
  refuse_used_folder(path);  // another process may have begun meanwhile
  if (ftruncate(folder.lines_, 0) != 0) {
    throw IoError(errno, "ftruncate", lines, 0, 0);
  }
  folder.plan_ = plan;
  append(folder.lines_, json_of(plan).dump() + "\n", lines);
  folder.open_table();
  return folder;
}

ResultFolder ResultFolder::open(const std::string& path) {
  const std::string lines = path + "/" + lines_name;
  if (!std::filesystem::exists(lines)) {
    throw std::invalid_argument("'" + path + "' holds no sweep: there is no " + lines_name);
  }
  ResultFolder folder(path, open_for_appending(lines, 0));
  lock(folder.lines_, path);
  const base::FileText read = base::read_plain_file(lines, rules);
  if (!read.why.empty()) {
    throw std::invalid_argument("'" + lines + "': " + read.why);
  }
  const std::string& text = read.text;
  std::size_t begin = 0;
  std::size_t number = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    ++number;
    try {
      const auto json = base::parse_bounded_json(std::string_view(text).substr(begin, end - begin));
      if (number == 1) {
        folder.plan_ = plan_of(json);
      } else {
        folder.results_.push_back(result_of(json, folder.plan_.points.size()));
      }
    } catch (const std::exception& error) {
      throw std::invalid_argument("'" + lines + "', line " + std::to_string(number) + ": " + error.what());
    }
    begin = end + 1;
  }
  if (number == 0) {
    throw std::invalid_argument("'" + path + "' holds no sweep: " + lines_name +
                                " ends before its first line does; begin again with --sweep --output " + path);
  }
  if (ftruncate(folder.lines_, static_cast<off_t>(begin)) != 0) {
    throw IoError(errno, "ftruncate", lines, begin, 0);
  }
  folder.open_table();
  for (const PointResult& result : folder.results_) {
    folder.add_to_table(result);
  }
  return folder;
}

ResultFolder::ResultFolder(ResultFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lines_(std::exchange(other.lines_, -1)),
      table_(std::exchange(other.table_, -1)),
      plan_(std::move(other.plan_)),
      results_(std::move(other.results_)) {}

ResultFolder::~ResultFolder() {
  for (const int descriptor : {lines_, table_}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
}

void ResultFolder::add(const PointResult& result) {
  append(lines_, json_of(result).dump() + "\n", file(lines_name));
  results_.push_back(result);
  add_to_table(result);
}

void ResultFolder::open_table() {
  table_ = open_for_appending(file(table_name), O_CREAT | O_TRUNC);
  append(table_, table_head, file(table_name));
}

void ResultFolder::add_to_table(const PointResult& result) {
  if (!result.error.empty()) {
    return;
  }
  std::ostringstream rows;
  const nlohmann::json& point = result.data.at("point");
  for (const auto& [variant, figures] : result.data.at("variants").items()) {
    rows << point.at("mode").get<std::string>() << ',' << point.at("pattern").get<std::string>();
    for (const char* field : {"block", "compute_ms", "series", "operations"}) {
      rows << ',' << point.at(field);
    }
    rows << ',' << variant;
    for (const char* field : {"seconds", "mib_per_second", "spread", "speedup", "speedup_spread", "over_baseline",
                              "efficiency", "efficiency_plain", "cpu_seconds", "complete"}) {
      rows << ',';
      if (figures.contains(field)) {
        rows << figures.at(field);
      }
    }
    rows << ',' << result.data.value("baseline", "");
    const auto model = result.data.find("model");
    if (model != result.data.end()) {
      rows << ',' << model->at("seconds") << ',' << model->at("limit").get<std::string>();
    } else {
      rows << ",,";
    }
    rows << ',' << (result.confirmation ? "true" : "false") << '\n';
  }
  append(table_, rows.str(), file(table_name));
}

}  // namespace dovetail::tiom
