#include "comm/rma/libfabric_endpoint.hpp"

#include <stdexcept>

// Without its headers, at build time, and without the library, at run time, groups are within a node.
#if __has_include(<rdma/fabric.h>)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "comm/rma/libfabric.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr std::uint64_t wanted_order = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAS | FI_ORDER_WAW | FI_ORDER_RAW;
constexpr int known_modes_of_memory = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
constexpr std::size_t posted_receives = 256;
constexpr std::size_t most_completions = 64;

struct Close {
  template <class Object>
  void operator()(Object* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

[[noreturn]] void fail_to(const char* what, long result) {
  throw std::runtime_error(std::string("libfabric: ") + what + ": " + Libfabric::get().text_of(result));
}
void require_success(long result, const char* what) {
  if (result < 0) {
    fail_to(what, result);
  }
}

// Whether other nodes are reached from there, by the address that the connections to them have.
bool is_at(const fi_info& info, const std::string& local_address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (info.src_addr == nullptr || local_address.empty()) {
    return true;
  }
  if (info.addr_format == FI_SOCKADDR_IN) {
    inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, text.data(), text.size());
  } else if (info.addr_format == FI_SOCKADDR_IN6) {
    inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, text.data(), text.size());
  } else {
    return true;
  }
  return local_address == text.data();
}

class Registered final : public Registration {
 public:
  Registered(fid_mr* region, std::uint64_t address) noexcept : region_(region), address_(address) {}
  RemoteMemory memory() const noexcept override { return {.address = address_, .key = fi_mr_key(region_.get())}; }
  void* descriptor() const noexcept override { return fi_mr_desc(region_.get()); }

 private:
  Owned<fid_mr> region_;
  std::uint64_t address_;
};

class LibfabricEndpoint final : public FabricEndpoint {
 public:
  explicit LibfabricEndpoint(const LibfabricOptions& options) : info_(choose(options)) {
    may_skip_registration_ = options.may_skip_registration && (info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0;
    is_ordered_ = options.may_order && (info_->tx_attr->msg_order & wanted_order) == wanted_order;
    carries_data_ = options.may_carry_data && info_->domain_attr->cq_data_size >= sizeof(std::uint64_t);
    provider_ = info_->fabric_attr->prov_name;
    open_domain(options.may_sleep);
    open_endpoint();
    post_receives();
  }

  std::string name() const override { return "libfabric (" + provider_ + ")"; }
  std::vector<std::byte> address() const override {
    std::size_t size = 0;
    fi_getname(&endpoint_->fid, nullptr, &size);
    std::vector<std::byte> name(size);
    require_success(fi_getname(&endpoint_->fid, name.data(), &size), "fi_getname");
    name.resize(size);
    return name;
  }
  void add_peer(int rank, std::span<const std::byte> address) override {
    fi_addr_t inserted = FI_ADDR_UNSPEC;
    if (fi_av_insert(peers_.get(), address.data(), 1, &inserted, 0, nullptr) != 1) {
      throw std::runtime_error("libfabric (" + provider_ + ") does not take the address of rank " +
                               std::to_string(rank));
    }
    addresses_[rank] = inserted;
  }

  std::unique_ptr<Registration> register_memory(std::span<std::byte> memory) override {
    return register_for(memory, FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE | FI_SEND | FI_RECV);
  }
  bool is_ordered() const noexcept override { return is_ordered_; }
  bool carries_data() const noexcept override { return carries_data_; }

  Posted post(Operation& operation) override {
    void* descriptor = nullptr;
    if (!may_skip_registration_ && operation.bytes > 0) {
      if (operation.registration == nullptr) {
        operation.registration =
            register_for({operation.local, operation.bytes}, FI_READ | FI_WRITE | FI_SEND | FI_RECV);
      }
      descriptor = operation.registration->descriptor();
    }
    const long result = submit(operation, descriptor);
    if (result == -FI_EAGAIN) {
      return Posted::later;
    }
    if (result != 0) {
      failure_ = Libfabric::get().text_of(result);
    }
    return result == 0 ? Posted::yes : Posted::never;
  }
  const std::string& failure() const noexcept override { return failure_; }

  unsigned poll(FabricEvents& events) noexcept override {
    std::array<fi_cq_data_entry, most_completions> entries;
    const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) {
      return 0;
    }
    if (count == -FI_EAVAIL) {
      take_failure(events);
      return 1;
    }
    if (count < 0) {
      events.broke(Libfabric::get().text_of(count));
      return 0;
    }
    for (const fi_cq_data_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
      take(entry, events);
    }
    return static_cast<unsigned>(count);
  }

  int descriptor() const noexcept override { return descriptor_; }
  bool may_sleep() noexcept override {
    fid* waited = &completions_->fid;
    return fi_trywait(fabric_.get(), &waited, 1) == FI_SUCCESS;
  }

 private:
  struct Receive {
    fi_context2 of_provider;  // first, since the provider gives the address of this back
    Message message;
  };
  struct FreeInfo {
    void operator()(fi_info* info) const noexcept { Libfabric::get().freeinfo(info); }
  };
  using Info = std::unique_ptr<fi_info, FreeInfo>;

  static Info choose(const LibfabricOptions& options) {
    const Libfabric& library = Libfabric::get();
    const Info hints(library.dupinfo(nullptr));
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = known_modes_of_memory;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (!options.provider.empty()) {
      hints->fabric_attr->prov_name = strdup(options.provider.c_str());  // freed with the rest
    }
    if (Info found = first_of(*hints, options, nullptr)) {
      return found;
    }
    // An interface that has just come is in no list yet.
    if (!options.local_address.empty()) {
      if (Info found = first_of(*hints, options, options.local_address.c_str())) {
        return found;
      }
    }
    throw std::runtime_error("No provider of libfabric " +
                             (options.provider.empty() ? "" : "of the name \"" + options.provider + "\" ") +
                             "has messages and one-sided operations, and reaches other nodes" +
                             (options.local_address.empty() ? "" : " from the address " + options.local_address) +
                             "; fi_info lists those of this machine, and DOVETAIL_FABRIC names one");
  }

  // The first that will do, at the best interface; `source`: null, or at this one. Null: there is none.
  static Info first_of(const fi_info& hints, const LibfabricOptions& options, const char* source) {
    const Libfabric& library = Libfabric::get();
    fi_info* found = nullptr;
    const std::uint64_t flags = source != nullptr ? FI_SOURCE | FI_NUMERICHOST : 0;
    const int result = library.getinfo(FI_VERSION(1, 14), source, nullptr, flags, &hints, &found);
    const Info all(found);
    if (result != 0 && result != -FI_ENODATA) {
      fail_to("fi_getinfo", result);
    }
    for (const fi_info* info = found; info != nullptr; info = info->next) {
      const bool is_within_node = std::strcmp(info->fabric_attr->prov_name, "shm") == 0;
      if (is_at(*info, options.local_address) && (!is_within_node || !options.provider.empty())) {
        return Info(library.dupinfo(info));
      }
    }
    return nullptr;
  }

  void open_domain(bool with_descriptor) {
    fid_fabric* fabric = nullptr;
    require_success(Libfabric::get().fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    require_success(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
    domain_.reset(domain);
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.wait_obj = FI_WAIT_FD;
    fid_cq* completions = nullptr;
    if (with_descriptor && fi_cq_open(domain, &attributes, &completions, nullptr) == 0) {
      completions_.reset(completions);
      if (fi_control(&completions->fid, FI_GETWAIT, &descriptor_) != 0) {
        descriptor_ = -1;
      }
    }
    if (descriptor_ < 0) {
      completions_.reset();
      attributes.wait_obj = FI_WAIT_NONE;
      require_success(fi_cq_open(domain, &attributes, &completions, nullptr), "fi_cq_open");
      completions_.reset(completions);
    }
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    fid_av* peers = nullptr;
    require_success(fi_av_open(domain, &addresses, &peers, nullptr), "fi_av_open");
    peers_.reset(peers);
  }

  void open_endpoint() {
    // A write ends when the data is there, where only this says what is there before what comes next.
    info_->tx_attr->op_flags = FI_COMPLETION | (is_ordered_ ? 0 : FI_DELIVERY_COMPLETE);
    fid_ep* endpoint = nullptr;
    require_success(fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr), "fi_endpoint");
    endpoint_.reset(endpoint);
    require_success(fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    require_success(fi_ep_bind(endpoint, &peers_->fid, 0), "fi_ep_bind");
    require_success(fi_enable(endpoint), "fi_enable");
  }

  void post_receives() {
    receives_.resize(posted_receives);
    if (!may_skip_registration_) {
      received_ = register_for(std::as_writable_bytes(std::span(receives_)), FI_RECV);
    }
    for (Receive& each : receives_) {
      const std::string refused = post_receive(each);
      if (!refused.empty()) {
        throw std::runtime_error("libfabric: fi_recv: " + refused);
      }
    }
  }
  std::string post_receive(Receive& receive) noexcept {
    void* const descriptor = received_ != nullptr ? received_->descriptor() : nullptr;
    const ssize_t result = fi_recv(endpoint_.get(), &receive.message, sizeof receive.message, descriptor,
                                   FI_ADDR_UNSPEC, &receive.of_provider);
    return result == 0 ? "" : Libfabric::get().text_of(result);
  }

  std::unique_ptr<Registration> register_for(std::span<std::byte> memory, std::uint64_t access) {
    fid_mr* region = nullptr;
    require_success(fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, next_key_++, 0, &region, nullptr),
                    "fi_mr_reg");
    const int mode = info_->domain_attr->mr_mode;
    const bool is_virtual = (mode & FI_MR_VIRT_ADDR) != 0;
    auto made = std::make_unique<Registered>(region, is_virtual ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0);
    if ((mode & FI_MR_ENDPOINT) != 0) {
      require_success(fi_mr_bind(region, &endpoint_->fid, 0), "fi_mr_bind");
      require_success(fi_mr_enable(region), "fi_mr_enable");
    }
    return made;
  }

  long submit(Operation& operation, void* descriptor) {
    const fi_addr_t to = addresses_.at(operation.rank);
    fid_ep* const from = endpoint_.get();
    switch (operation.kind) {
      case Operation::Kind::write:
        return fi_write(from, operation.local, operation.bytes, descriptor, to, operation.remote.address,
                        operation.remote.key, &operation);
      case Operation::Kind::write_with_data:
        return fi_writedata(from, operation.local, operation.bytes, descriptor, operation.data, to,
                            operation.remote.address, operation.remote.key, &operation);
      case Operation::Kind::read:
        return fi_read(from, operation.local, operation.bytes, descriptor, to, operation.remote.address,
                       operation.remote.key, &operation);
      case Operation::Kind::message:
        return fi_send(from, operation.local, operation.bytes, descriptor, to, &operation);
    }
    return -FI_EINVAL;
  }

  bool is_receive(const void* context) const noexcept {
    return !receives_.empty() && context >= receives_.data() && context < receives_.data() + receives_.size();
  }

  void take(const fi_cq_data_entry& entry, FabricEvents& events) noexcept {
    // A write of another process, which no receive was posted for.
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
      events.data_arrived(entry.data);
    } else if (is_receive(entry.op_context)) {
      auto& receive = *static_cast<Receive*>(entry.op_context);
      const Message message = receive.message;
      const std::string refused = post_receive(receive);
      if (!refused.empty()) {
        events.broke("fi_recv: " + refused);
      }
      if (entry.len == sizeof message) {
        events.message_arrived(message);
      }
    } else if (entry.op_context != nullptr) {
      events.operation_ended(*static_cast<Operation*>(entry.op_context), "");
    }
  }

  void take_failure(FabricEvents& events) noexcept {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(completions_.get(), &entry, 0) != 1) {
      return;
    }
    const std::string text = Libfabric::get().text_of(entry.err);
    if (is_receive(entry.op_context)) {
      post_receive(
          *static_cast<Receive*>(entry.op_context));  // of a connection that has ended, which is told otherwise
    } else if (entry.op_context != nullptr) {
      events.operation_ended(*static_cast<Operation*>(entry.op_context), text);
    }
  }

  // What stands on another one is closed before it: the last is the first.
  Info info_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> peers_;
  Owned<fid_cq> completions_;
  Owned<fid_ep> endpoint_;
  std::vector<Receive> receives_;
  std::unique_ptr<Registration> received_;
  std::unordered_map<int, fi_addr_t> addresses_;
  std::string provider_;
  std::string failure_;
  std::uint64_t next_key_ = 1;
  int descriptor_ = -1;
  bool is_ordered_ = false;
  bool carries_data_ = false;
  bool may_skip_registration_ = false;
};

}  // namespace

std::unique_ptr<FabricEndpoint> open_libfabric(const LibfabricOptions& options) {
  return std::make_unique<LibfabricEndpoint>(options);
}

}  // namespace dovetail::comm::rma

#else

namespace dovetail::comm::rma {

std::unique_ptr<FabricEndpoint> open_libfabric(const LibfabricOptions& /*options*/) {
  throw NoLibfabric("Dovetail was built without libfabric. Install its headers (libfabric-dev), and build again");
}

}  // namespace dovetail::comm::rma
#endif
