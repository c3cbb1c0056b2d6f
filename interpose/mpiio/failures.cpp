#include "failures.hpp"

#include <cerrno>
#include <cstdio>
#include <map>
#include <system_error>

#include "base/mutex.hpp"
#include "functions.hpp"

namespace dovetail::interpose::mpiio {
namespace {

#ifdef OPEN_MPI
// Codes cannot be given back, so there is one for each class.
int code_with_text(int error_class, const std::string& text) {
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
  pmpi().Add_error_string(at->second, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return at->second;
}

// Open MPI calls no handler of MPI_FILE_NULL.
bool has_handler(MPI_File file) { return file != handles().no_file; }
#else
// MPICH shows no text of a code that was added to one of its own classes. Its own way to make one, which its part for files uses, does that; a library
// without it tells the class alone.
int code_with_text(int error_class, const std::string& text) {
  constexpr int recoverable = 0;
  return library_error_maker() == nullptr ? error_class
                                          : library_error_maker()(MPI_SUCCESS, recoverable, "dovetail", 0, error_class,
                                                                  "**io", "**io %s", text.c_str());
}

bool has_handler(MPI_File /*file*/) { return true; }
#endif

}  // namespace

int fail(MPI_File file, int error_class, const std::string& why) {
  const int code = code_with_text(error_class, "dovetail: " + why);
  if (has_handler(file)) {
    pmpi().File_call_errhandler(file, code);
  }
  return code;
}

namespace {

int fail_without_text(MPI_File file, int error_class) noexcept {
  if (has_handler(file)) {
    pmpi().File_call_errhandler(file, error_class);
  }
  return error_class;
}

}  // namespace

int fail_of_exception(MPI_File file) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail_without_text(file, MPI_ERR_NO_MEM);
  } catch (const std::exception& exception) {
    try {
      return fail(file, MPI_ERR_OTHER, exception.what());
    } catch (const std::exception&) {
      return fail_without_text(file, MPI_ERR_OTHER);
    }
  }
}

staging::FileFailure failure_of_exception(const char* operation) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {.error = ENOMEM, .operation = operation};
  } catch (const std::system_error& error) {
    return {.error = error.code().value(), .operation = operation};
  } catch (const std::exception&) {
    return {.error = EIO, .operation = operation};
  }
}

void tell(const std::string& sentence) noexcept { std::fprintf(stderr, "dovetail: %s\n", sentence.c_str()); }

std::string text_of_drain(const staging::FileFailure& failure, const std::string& path, const std::string& folder) {
  const std::string kept = failure.text() + ". What was written to " + path + " is kept in " + folder;
  // Of a file that is gone, or of a log that was superseded, the failure says what can be done.
  return failure.error == ESTALE
             ? kept
             : kept + ": the next opening of the file, or `dovetail staging recover`, brings it there";
}

}  // namespace dovetail::interpose::mpiio
