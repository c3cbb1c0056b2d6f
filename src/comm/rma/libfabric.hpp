// The functions of libfabric that are no table of pointers. The library is loaded when the first process of another node is to be reached: a program
// within one node needs none.
#pragma once

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "comm/rma/libfabric_endpoint.hpp"
#include "comm/rma/library_function.hpp"

namespace dovetail::comm::rma {

struct Libfabric {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;

  /// Stays loaded. @throws NoLibfabric if there is none
  static const Libfabric& get() {
    static const Libfabric loaded = load();
    return loaded;
  }
  /// `result`: an error of the library, of either sign.
  std::string text_of(long result) const { return strerror(static_cast<int>(result < 0 ? -result : result)); }

 private:
  static constexpr int signals = 32;  // those of the system; the others have no handler of a library

  static Libfabric load() {
    // Libraries that it brings along set handlers of signals, which are the program's.
    std::array<struct sigaction, signals> before{};
    for (int number = 1; number < signals; ++number) {
      sigaction(number, nullptr, &before[static_cast<std::size_t>(number)]);
    }
    void* const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    for (int number = 1; number < signals; ++number) {
      sigaction(number, &before[static_cast<std::size_t>(number)], nullptr);
    }
    if (library == nullptr) {
      throw NoLibfabric(std::string("Ranks on several nodes need libfabric (libfabric1): ") + dlerror());
    }
    Libfabric found;
    const auto find = [library](const char* name, auto& function) {
      find_function(library, "libfabric", name, function);
    };
    find("fi_getinfo", found.getinfo);
    find("fi_freeinfo", found.freeinfo);
    find("fi_dupinfo", found.dupinfo);
    find("fi_fabric", found.fabric);
    find("fi_strerror", found.strerror);
    return found;
  }
};

}  // namespace dovetail::comm::rma
