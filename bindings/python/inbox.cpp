#include "inbox.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dovetail/rma_inbox.hpp"
#include "failure.hpp"
#include "memory.hpp"
#include "number.hpp"
#include "segment.hpp"
#include "thread_state.hpp"
#include "waiting_task.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

class InboxObject {
 public:
  explicit InboxObject(std::shared_ptr<InboxPlace> place) noexcept : place_(std::move(place)) {}
  /// @throws std::logic_error after its group's `end`
  const rma::Inbox& get() const { return place_->get(); }
  const std::shared_ptr<UsedMemory>& used() const noexcept { return place_->used(); }

 private:
  std::shared_ptr<InboxPlace> place_;
};

InboxObject* open_inbox(GroupObject& group, nb::handle bytes, nb::handle messages) {
  return translated([&] {
    const rma::InboxOptions options{.bytes = number_of<std::uint32_t>(bytes.ptr(), "bytes"),
                                    .messages = number_of<std::uint32_t>(messages.ptr(), "messages")};
    const rma::Group its = group.get();
    const rma::Inbox made = [&] {
      const Unlocked unlocked;
      return rma::Inbox::open(its, options);
    }();
    return new InboxObject(group.keep(made));
  });
}

void send(const InboxObject& self, nb::handle rank, nb::handle data) {
  translated([&] {
    const auto to = number_of<std::int32_t>(rank.ptr(), "rank");
    const Buffer buffer(data.ptr(), false, "send");
    const auto* const first = static_cast<const std::byte*>(buffer.data());
    // Of its own, since a wait that Ctrl-C has ended may still need it.
    const std::string message(reinterpret_cast<const char*>(first), buffer.size());
    in_waiting_task([used = self.used(), its = self.get(), message, to] { its.send(to, message); });
  });
}

nb::tuple as_tuple(int rank, const std::string& message) {
  return nb::make_tuple(rank, nb::bytes(message.data(), message.size()));
}

nb::tuple receive(const InboxObject& self) {
  return translated([&] {
    const auto [rank, message] = in_waiting_task([used = self.used(), its = self.get()] {
      std::string into(its.most_bytes(), '\0');
      const rma::Inbox::Received received = its.receive(std::as_writable_bytes(std::span(into)));
      into.resize(received.bytes);
      return std::pair(received.rank, into);
    });
    return as_tuple(rank, message);
  });
}

nb::object try_receive(const InboxObject& self) {
  return translated([&]() -> nb::object {
    std::string into(self.get().most_bytes(), '\0');
    const auto received = self.get().try_receive(std::as_writable_bytes(std::span(into)));
    if (!received) {
      return nb::none();
    }
    into.resize(received->bytes);
    return as_tuple(received->rank, into);
  });
}

}  // namespace

void bind_inbox(nb::module_& module) {
  nb::class_<InboxObject>(module, "Inbox", nb::is_final(), "Receives messages of any rank.")
      .def_static("open", &open_inbox, nb::arg("group"), nb::arg("bytes") = nb::int_(1024),
                  nb::arg("messages") = nb::int_(4), nb::rv_policy::take_ownership,
                  "By all processes at the same time, with the same options.")
      .def_prop_ro(
          "most_bytes", [](const InboxObject& self) { return translated([&] { return self.get().most_bytes(); }); },
          "Of the longest message.")
      .def("send", &send, nb::arg("rank"), nb::arg("message"),
           "Sends bytes, or an array. Pauses the task until there is room for it.")
      .def("receive", &receive, "Pauses the task until there is a message. Returns the sender and the bytes.")
      .def("try_receive", &try_receive, "Takes a message that has come: the sender and the bytes; else None.");
}

}  // namespace dovetail::python
