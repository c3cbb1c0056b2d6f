// Opening, closing and asking about files. The operations are in operations_of_file.cpp.
#include "dovetail/file.hpp"

#include <memory>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {
namespace {

FileOptions translate(const dovetail_file_options& given_options) {
  FileOptions options;
  switch (choice(given_options.direct, DOVETAIL_DIRECT_ADAPTIVE, "options->direct")) {
    case DOVETAIL_DIRECT_AUTOMATIC:
      options.direct = Direct::automatic;
      break;
    case DOVETAIL_DIRECT_ALWAYS:
      options.direct = Direct::always;
      break;
    case DOVETAIL_DIRECT_ADAPTIVE:
      options.direct = Direct::adaptive;
      break;
    default:
      options.direct = Direct::never;
  }
  if (given_options.mode != 0) {
    options.mode = static_cast<unsigned>(choice(given_options.mode, 07777, "options->mode"));
  }
  static_assert(DOVETAIL_URGENCY_DRAIN == static_cast<int>(Urgency::drain) &&
                DOVETAIL_URGENCY_PREFETCH == static_cast<int>(Urgency::prefetch));
  options.urgency = static_cast<Urgency>(choice(given_options.urgency, DOVETAIL_URGENCY_PREFETCH, "options->urgency"));
  options.staged = choice(given_options.staged, 1, "options->staged") != 0;
  options.tier = given_options.tier != nullptr ? given_options.tier : "";
  return options;
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_file_open(const char* path, int32_t flags, const dovetail_file_options* options,
                           dovetail_file** file) {
  return guarded(__func__, [&]() -> int32_t {
    given(path, "path");
    given(file, "file");
    const auto translated = options != nullptr ? translate(known_part(options, "options")) : dovetail::FileOptions{};
    *file = new dovetail_file{dovetail::File::open(path, flags, translated)};
    return 0;
  });
}

int32_t dovetail_file_adopt(int32_t descriptor, int32_t owned, dovetail_file** file) {
  return guarded(__func__, [&]() -> int32_t {
    given(file, "file");
    // The object first: a descriptor must not have an owner when the caller is told of a failure.
    auto adopted = std::make_unique<dovetail_file>();
    adopted->file = dovetail::File::from_descriptor(descriptor, owned != 0);
    *file = adopted.release();
    return 0;
  });
}

int32_t dovetail_file_close(dovetail_file* file) {
  return guarded(__func__, [&]() -> int32_t {
    const std::unique_ptr<dovetail_file> closed(file);
    if (closed != nullptr) {
      closed->file.close();
    }
    return 0;
  });
}

int32_t dovetail_file_descriptor(const dovetail_file* file) {
  return guarded(__func__, [&]() -> int32_t { return given(file, "file").file.descriptor(); });
}

const char* dovetail_file_path(const dovetail_file* file) {
  return file != nullptr ? file->file.path().c_str() : nullptr;
}

int64_t dovetail_file_space(const dovetail_file* file) {
  return file != nullptr ? static_cast<int64_t>(file->file.space()) : 0;
}

int32_t dovetail_file_direct(const dovetail_file* file) {
  return guarded(__func__, [&]() -> int32_t { return given(file, "file").file.direct() ? 1 : 0; });
}

int64_t dovetail_file_size(const dovetail_file* file) {
  return guarded(__func__, [&] { return static_cast<int64_t>(given(file, "file").file.size()); });
}

int32_t dovetail_file_truncate(const dovetail_file* file, int64_t size) {
  return guarded(__func__, [&]() -> int32_t {
    given(file, "file").file.truncate(natural(size, "size"));
    return 0;
  });
}

}  // extern "C"
