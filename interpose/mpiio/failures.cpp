#include "failures.hpp"

#include <cstdio>
#include <map>

#include "base/mutex.hpp"
#include "functions.hpp"

namespace dovetail::interpose::mpiio {
namespace {

// Codes cannot be given back, so there is one for each class.
int code_with_text(int error_class, const std::string& why) {
  static base::Mutex mutex;
  static std::map<int, int> codes;
  const base::LockGuard lock(mutex);
  auto at = codes.find(error_class);
  if (at == codes.end()) {
    int code = error_class;
    if (pmpi().Add_error_code(error_class, &code) != MPI_SUCCESS) {
      return error_class;
    }
    at = codes.emplace(error_class, code).first;
  }
  const std::string text = "dovetail: " + why;
  pmpi().Add_error_string(at->second, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return at->second;
}

}  // namespace

int fail(MPI_File file, int error_class, const std::string& why) {
  const int code = code_with_text(error_class, why);
  pmpi().File_call_errhandler(file, code);
  return code;
}

void tell(const std::string& sentence) noexcept { std::fprintf(stderr, "dovetail: %s\n", sentence.c_str()); }

std::string text_of_drain(const staging::FileFailure& failure, const std::string& path, const std::string& folder) {
  return failure.text() + ". What was written to " + path + " is kept in " + folder +
         ": the next opening of the file, or `dovetail staging recover`, brings it there";
}

}  // namespace dovetail::interpose::mpiio
