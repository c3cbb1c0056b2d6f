// The calls that walk through folders. They look at files by calls of the C library's own, which are not seen.
#include "libc.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

void correct(struct stat64& status) noexcept {
  const KeptErrno kept;
  const std::shared_ptr<ProgramFile> file = S_ISREG(status.st_mode) ? find_file(identity_of(status)) : nullptr;
  if (const ProgramFile::Use use = file != nullptr ? file->use() : ProgramFile::Use(); use.is_staged()) {
    use.correct(status);
  }
}

// What the program has its walk call, which has no place for that of another one. A walk may begin within another. `Rest`: what it is given besides.
template <class... Rest>
class Walk {
 public:
  using Function = int (*)(const char*, const struct stat64*, int, Rest...);
  explicit Walk(Function function) noexcept : function_(function), before_(current_) { current_ = this; }
  ~Walk() { current_ = before_; }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  static int visit(const char* path, const struct stat64* status, int kind, Rest... rest) {
    if (kind != FTW_F) {
      return current_->function_(path, status, kind, rest...);
    }
    struct stat64 corrected = *status;
    correct(corrected);
    return current_->function_(path, &corrected, kind, rest...);
  }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local Walk* current_ = nullptr;
  Function function_;
  Walk* before_;
};

FTSENT64* corrected(FTSENT64* entry) noexcept {
  if (entry != nullptr && entry->fts_info == FTS_F && !no_files()) {
    correct(*entry->fts_statp);
  }
  return entry;
}

}  // namespace

DOVETAIL_CALL int nftw64(const char* path, __nftw64_func_t function, int descriptors, int flags) {
  if (no_files()) {
    return libc::nftw64(path, function, descriptors, flags);
  }
  const Walk<FTW*> walk(function);
  return libc::nftw64(path, Walk<FTW*>::visit, descriptors, flags);
}
DOVETAIL_CALL int ftw64(const char* path, __ftw64_func_t function, int descriptors) {
  if (no_files()) {
    return libc::ftw64(path, function, descriptors);
  }
  const Walk<> walk(function);
  return libc::ftw64(path, Walk<>::visit, descriptors);
}
DOVETAIL_CALL FTSENT64* fts64_read(FTS64* walk) { return corrected(libc::fts64_read(walk)); }
DOVETAIL_CALL FTSENT64* fts64_children(FTS64* walk, int options) {
  FTSENT64* const first = libc::fts64_children(walk, options);
  for (FTSENT64* each = first; each != nullptr; each = each->fts_link) {
    corrected(each);
  }
  return first;
}

extern "C" {
int nftw(const char*, __nftw_func_t, int, int) DOVETAIL_ALIAS("nftw64");
int ftw(const char*, __ftw_func_t, int) DOVETAIL_ALIAS("ftw64");
FTSENT* fts_read(FTS*) DOVETAIL_ALIAS("fts64_read");
FTSENT* fts_children(FTS*, int) DOVETAIL_ALIAS("fts64_children");
}
