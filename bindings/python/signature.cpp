#include "signature.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "call.hpp"
#include "counts.hpp"
#include "failure.hpp"
#include "limit.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

void construct(Signature* self, nb::object function, const std::string& label, const nb::list& positional,
               Direction rest, Direction others, const nb::dict& named, const std::string& kind, int priority, bool io,
               bool deferred, unsigned retries, bool ignore, const std::string& storage_bw, const std::string& device,
               bool standalone, nb::handle limit, nb::object retry_on, double retry_delay, int returns) {
  const StorageBandwidth share = translated([&] { return StorageBandwidth::parse(storage_bw); });
  auto* const signature = new (self) Signature;
  signature->function = Held::adopt(function.release().ptr());
  signature->label = label;
  for (nb::handle parameter : positional) {
    signature->positional.push_back({nb::cast<std::string>(parameter[0]), nb::cast<Direction>(parameter[1])});
  }
  signature->rest = rest;
  signature->others = others;
  for (const auto& [name, direction] : named) {
    signature->named.emplace(nb::cast<std::string>(name), nb::cast<Direction>(direction));
  }
  signature->priority = priority;
  signature->io = io;
  signature->storage_bw = share;
  signature->device = device;
  signature->deferred = deferred;
  signature->standalone = standalone;
  if (!retry_on.is_none()) {
    signature->retry_on = Held::adopt(retry_on.release().ptr());
  }
  signature->retry_delay = retry_delay;
  signature->returns = returns;
  signature->limit = shared_limit(limit);
  signature->counts = &counts_of(label, kind);
  signature->on_failure = {ignore ? FailurePolicy::Action::ignore : FailurePolicy::Action::cancel_successors, retries};
}

}  // namespace

void bind_signature(nb::module_& module) {
  nb::enum_<Direction>(module, "Direction", "What a task does with a parameter.")
      .value("IN", Direction::in, "Reads it.")
      .value("OUT", Direction::out, "Overwrites it.")
      .value("INOUT", Direction::inout, "Reads and changes it.")
      .value("COMMUTATIVE", Direction::commutative, "Changes it, in any order with others that do, one at a time.")
      .value("FILE_IN", Direction::file_in, "A path; reads the file.")
      .value("FILE_OUT", Direction::file_out, "A path; writes the file anew.")
      .value("FILE_INOUT", Direction::file_inout, "A path; reads and changes the file.")
      .value("FILE_COMMUTATIVE", Direction::file_commutative,
             "A path; changes the file, in any order with others that do.")
      .value("UNORDERED", Direction::unordered, "Only futures in it are waited for.");
  nb::class_<Signature>(module, "Signature", "What is the same for all calls of a task.")
      .def("__init__", &construct, nb::arg("function"), nb::arg("label"), nb::arg("positional"), nb::arg("rest"),
           nb::arg("others"), nb::arg("named"), nb::arg("kind"), nb::arg("priority"), nb::arg("io"),
           nb::arg("deferred"), nb::arg("retries"), nb::arg("ignore"), nb::arg("storage_bw"), nb::arg("device"),
           nb::arg("standalone") = false, nb::arg("limit").none() = nb::none(), nb::arg("retry_on").none() = nb::none(),
           nb::arg("retry_delay") = 0.0, nb::arg("returns") = 1);
}

}  // namespace dovetail::python
