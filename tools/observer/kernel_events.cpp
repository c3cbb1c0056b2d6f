#include "kernel_events.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "page_events.skel.h"

namespace dovetail::observer {
namespace {

constexpr const char* types_of_kernel = "/sys/kernel/btf/vmlinux";
// An observer that only writes down is woken for so many bytes, a quarter of what can wait.
constexpr std::uint64_t woken_for = 4 << 20;

std::string why(int error) {
  if (error == EPERM) {
    return "the kernel does not let this process see its events, which takes root, or the capabilities CAP_BPF and "
           "CAP_PERFMON";
  }
  const int found = libbpf_find_vmlinux_btf_id("mm_filemap_get_pages", BPF_TRACE_RAW_TP);
  if (found == -ENOENT || found == -ESRCH) {
    return "this kernel has no tracepoint filemap:mm_filemap_get_pages, which Linux 6.12 brought";
  }
  return std::string("the kernel refuses the programs for its events: ") + std::generic_category().message(error);
}

}  // namespace

KernelEvents::KernelEvents(const Files& files, Told told)
    : told_(std::move(told)), programs_(nullptr, page_events_bpf__destroy), events_(nullptr, ring_buffer__free) {
  libbpf_set_print(nullptr);
  if (access(types_of_kernel, R_OK) != 0) {
    throw Unavailable(std::string("the kernel does not describe its types (BTF): ") + types_of_kernel + ": " +
                      std::generic_category().message(errno));
  }
  programs_.reset(page_events_bpf__open());
  if (programs_ == nullptr) {
    throw Unavailable(std::string("libbpf: ") + std::generic_category().message(errno));
  }
  const std::vector<page_file>& wanted = files.wanted;
  programs_->rodata->observing = wanted.empty() ? 1 : 0;
  programs_->rodata->advising = wanted.empty() && files.in_time ? 1 : 0;
  programs_->rodata->waiting = woken_for;
  bpf_map__set_max_entries(programs_->maps.wanted, std::max(1U, static_cast<std::uint32_t>(wanted.size())));
  int error = page_events_bpf__load(programs_.get());
  const std::uint8_t yes = 1;
  for (auto file = wanted.begin(); error == 0 && file != wanted.end(); ++file) {
    constexpr unsigned bits = 64;
    programs_->bss->wanted_bits[file->inode / bits % page_event_words_of_bits] |= std::uint64_t{1}
                                                                                  << file->inode % bits;
    error = bpf_map_update_elem(bpf_map__fd(programs_->maps.wanted), &*file, &yes, BPF_ANY);
  }
  if (error == 0) {
    error = page_events_bpf__attach(programs_.get());
  }
  if (error != 0) {
    throw Unavailable(why(std::abs(error)));
  }
  events_.reset(ring_buffer__new(bpf_map__fd(programs_->maps.events), tell, this, nullptr));
  if (events_ == nullptr) {
    throw Unavailable(std::string("libbpf: ") + std::generic_category().message(errno));
  }
}

KernelEvents::~KernelEvents() = default;

bool KernelEvents::follow(pid_t process) noexcept {
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) {
    return false;
  }
  const std::vector<std::byte> nothing(bpf_map__value_size(programs_->maps.threads));
  const int error = bpf_map_update_elem(bpf_map__fd(programs_->maps.threads), &descriptor, nothing.data(), BPF_NOEXIST);
  close(descriptor);
  return error == 0;
}

void KernelEvents::forget(const page_file& file) noexcept {
  const std::uint8_t state = page_file_left_out;
  bpf_map_update_elem(bpf_map__fd(programs_->maps.named), &file, &state, BPF_ANY);
  bpf_map_delete_elem(bpf_map__fd(programs_->maps.wanted), &file);
}

void KernelEvents::take() { ring_buffer__consume(events_.get()); }

int KernelEvents::descriptor() const noexcept { return ring_buffer__epoll_fd(events_.get()); }

std::uint64_t KernelEvents::lost() const noexcept { return programs_->bss->lost; }

int KernelEvents::tell(void* self, void* data, std::size_t bytes) {
  const auto& event = *static_cast<const page_event*>(data);
  std::string_view names;
  if (event.kind == page_event_name && bytes >= sizeof(page_event_named)) {
    names = {static_cast<const page_event_named*>(data)->names,
             std::min<std::size_t>(event.bytes, sizeof(page_event_named::names))};
  }
  static_cast<KernelEvents*>(self)->told_(event, names);
  return 0;
}

}  // namespace dovetail::observer
