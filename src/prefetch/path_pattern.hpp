// Paths with wildcards, as a configuration has them.
#pragma once

#include <string_view>

namespace dovetail::prefetching {

/// Whether a pattern is about a path. `*` stands for any characters of one name, `?` for one; `[abc]`, `[a-z]`, `[!a]` for one of these. `**` stands for any
/// characters, `/` included, and `/**/` for `/` as well. Everything else, and a `[` that is never closed, stands for itself. Allocates nothing; takes at most the product of both lengths.
bool matches(std::string_view pattern, std::string_view path) noexcept;

}  // namespace dovetail::prefetching
