#include "abi/wrappers.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "abi/functions.hpp"
#include "dovetail/mpi.hpp"

namespace dovetail::interpose::mpi {
namespace {

using dovetail::detail::mpi::Abi;
using dovetail::detail::mpi::Description;
using dovetail::detail::mpi::in_task;
using dovetail::detail::mpi::Start;
using dovetail::mpi::detail::abi;
using dovetail::mpi::detail::describe;
using dovetail::mpi::detail::from;
using dovetail::mpi::detail::or_null;
using dovetail::mpi::detail::to;

// `start` starts the operation; the task pauses until it has ended.
template <class Call>
int paused(const Description& description, const Call& start, MPI_Status* status = MPI_STATUS_IGNORE) {
  const auto begin = [&start](void* request) { return start(static_cast<MPI_Request*>(request)); };
  return dovetail::detail::mpi::call(abi, description, Start::of(begin), or_null(status));
}

// `attempt` sets a flag of MPI when the operation has ended.
template <class Attempt>
int tried(const Description& description, const Attempt& attempt) {
  const auto once = [&attempt](void* ended) {
    int flag = 0;
    const int code = attempt(&flag);
    *static_cast<bool*>(ended) = flag != 0;
    return code;
  };
  return dovetail::detail::mpi::attempt(abi, description, Start::of(once));
}

Description of(const char* call) {
  Description made;
  made.call = call;
  return made;
}

// A blocking collective does not match one with a request (MPI 3.1, section 5.12): so all have one, those outside of tasks too.
template <class Call>
int collective(const char* name, MPI_Comm communicator, const Call& start) {
  if (in_task(abi)) {
    return paused(describe(name, communicator), start);
  }
  MPI_Request request;
  const int code = start(&request);
  return code != MPI_SUCCESS ? code : mpi().Wait(&request, MPI_STATUS_IGNORE);
}

// Sends of each mode, with counts of each size.
template <class Name, class Count>
int send(const void* data, Count count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  return !in_task(abi) ? (mpi().*Name::blocking)(data, count, type, rank, tag, communicator)
                       : paused(to(Name::name, rank, tag, communicator), [&](MPI_Request* request) {
                           return (mpi().*Name::with_request)(data, count, type, rank, tag, communicator, request);
                         });
}

template <class Name, class Count>
int recv(void* data, Count count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator, MPI_Status* status) {
  return !in_task(abi) ? (mpi().*Name::blocking)(data, count, type, rank, tag, communicator, status)
                       : paused(
                             from(Name::name, rank, tag, communicator),
                             [&](MPI_Request* request) {
                               return (mpi().*Name::with_request)(data, count, type, rank, tag, communicator, request);
                             },
                             status);
}

template <class Name, class Count>
int mrecv(void* data, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return !in_task(abi) ? (mpi().*Name::blocking)(data, count, type, message, status)
                       : paused(
                             of(Name::name),
                             [&](MPI_Request* request) {
                               return (mpi().*Name::with_request)(data, count, type, message, request);
                             },
                             status);
}

template <class Name, class Count>
int sendrecv(const void* sent, Count sent_count, MPI_Datatype sent_type, int destination, int sent_tag, void* received,
             Count received_count, MPI_Datatype received_type, int source, int received_tag, MPI_Comm communicator,
             MPI_Status* status) {
  if (!in_task(abi)) {
    return (mpi().*Name::blocking)(sent, sent_count, sent_type, destination, sent_tag, received, received_count,
                                   received_type, source, received_tag, communicator, status);
  }
  // Neither buffer may be left to MPI when the call returns, whatever fails.
  std::array<MPI_Request, 2> requests;
  std::array<MPI_Status, 2> statuses;
  std::array<int, 2> codes{MPI_SUCCESS, MPI_SUCCESS};
  std::array<bool, 2> ended{};
  bool begun = false;
  tried(from(Name::name, source, received_tag, communicator), [&](int* flag) {
    if (!begun) {
      begun = true;
      codes[0] = (mpi().*Name::receive)(received, received_count, received_type, source, received_tag, communicator,
                                        &requests[0]);
      ended[0] = codes[0] != MPI_SUCCESS;
      if (!ended[0]) {
        codes[1] =
            (mpi().*Name::with_request)(sent, sent_count, sent_type, destination, sent_tag, communicator, &requests[1]);
      }
      ended[1] = ended[0] || codes[1] != MPI_SUCCESS;
      if (!ended[0] && ended[1]) {
        mpi().Cancel(&requests[0]);
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (!ended[i]) {
        int its_end = 0;
        codes[i] = mpi().Test(&requests[i], &its_end, &statuses[i]);
        ended[i] = its_end != 0 || codes[i] != MPI_SUCCESS;
      }
    }
    *flag = ended[0] && ended[1] ? 1 : 0;
    return MPI_SUCCESS;
  });
  if (codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && status != MPI_STATUS_IGNORE) {
    *status = statuses[0];
  }
  return codes[0] != MPI_SUCCESS ? codes[0] : codes[1];
}

// The program's requests are asked where they are: what MPI does to those that are persistent, or null, is then MPI's own.
int wait(MPI_Request* request, MPI_Status* status) {
  return !in_task(abi) ? mpi().Wait(request, status)
                       : tried(of("MPI_Wait"), [&](int* flag) { return mpi().Test(request, flag, status); });
}
// MPI_Testall may return as soon as one has failed; the call returns when all have ended.
int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!in_task(abi)) {
    return mpi().Waitall(count, requests, statuses);
  }
  std::vector<MPI_Status> present(static_cast<std::size_t>(count));
  std::vector<int> codes(present.size(), MPI_SUCCESS);
  bool failed = false;
  int code = tried(of("MPI_Waitall"), [&](int* flag) {
    const int now = mpi().Testall(count, requests, flag, present.data());
    if (now != MPI_ERR_IN_STATUS) {
      return now;
    }
    failed = true;
    bool pending = false;
    for (std::size_t i = 0; i < present.size(); ++i) {
      int its_class = MPI_SUCCESS;
      mpi().Error_class(present[i].MPI_ERROR, &its_class);
      if (its_class == MPI_ERR_PENDING) {
        pending = true;
      } else if (codes[i] == MPI_SUCCESS) {
        codes[i] = present[i].MPI_ERROR;
      }
    }
    *flag = pending ? 0 : 1;
    return MPI_SUCCESS;
  });
  code = code == MPI_SUCCESS && failed ? MPI_ERR_IN_STATUS : code;
  if (statuses != MPI_STATUSES_IGNORE) {
    for (std::size_t i = 0; i < present.size(); ++i) {
      statuses[i] = present[i];
      statuses[i].MPI_ERROR = codes[i];
    }
  }
  return code;
}
int waitany(int count, MPI_Request* requests, int* which, MPI_Status* status) {
  return !in_task(abi)
             ? mpi().Waitany(count, requests, which, status)
             : tried(of("MPI_Waitany"), [&](int* flag) { return mpi().Testany(count, requests, which, flag, status); });
}
int waitsome(int count, MPI_Request* requests, int* ended, int* which, MPI_Status* statuses) {
  return !in_task(abi) ? mpi().Waitsome(count, requests, ended, which, statuses)
                       : tried(of("MPI_Waitsome"), [&](int* flag) {
                           const int code = mpi().Testsome(count, requests, ended, which, statuses);
                           *flag = *ended != 0 ? 1 : 0;  // MPI_UNDEFINED: none is active
                           return code;
                         });
}
int probe(int rank, int tag, MPI_Comm communicator, MPI_Status* status) {
  return !in_task(abi) ? mpi().Probe(rank, tag, communicator, status)
                       : tried(from("MPI_Probe", rank, tag, communicator),
                               [&](int* flag) { return mpi().Iprobe(rank, tag, communicator, flag, status); });
}
int mprobe(int rank, int tag, MPI_Comm communicator, MPI_Message* message, MPI_Status* status) {
  return !in_task(abi) ? mpi().Mprobe(rank, tag, communicator, message, status)
                       : tried(from("MPI_Mprobe", rank, tag, communicator), [&](int* flag) {
                           return mpi().Improbe(rank, tag, communicator, flag, message, status);
                         });
}

// Any collective, made from the form with a request, whose parameters are those of the blocking one and the request. Of these the last one
// is the communicator.
template <class Name, class Indices, class... All>
struct Blocking;
template <class Name, std::size_t... i, class... All>
struct Blocking<Name, std::index_sequence<i...>, All...> {
  using Parameters = std::tuple<All...>;
  static int call(std::tuple_element_t<i, Parameters>... given) {
    MPI_Comm const communicator = std::get<sizeof...(i) - 1>(std::tie(given...));
    return collective(Name::name, communicator,
                      [&](MPI_Request* request) { return (mpi().*Name::with_request)(given..., request); });
  }
};
template <class Name, class... All>
void lead(bool (*lead_call)(const char* name, void (*target)()), int (*)(All...)) {
  using Call = Blocking<Name, std::make_index_sequence<sizeof...(All) - 1>, All...>;
  lead_call(Name::name, reinterpret_cast<void (*)()>(&Call::call));
}

// clang-format off
#define DOVETAIL_MPI_COLLECTIVES(USE) \
  USE(Barrier, Ibarrier) \
  USE(Bcast, Ibcast) \
  USE(Gather, Igather) USE(Gatherv, Igatherv) USE(Scatter, Iscatter) USE(Scatterv, Iscatterv) \
      USE(Allgather, Iallgather) USE(Allgatherv, Iallgatherv) USE(Alltoall, Ialltoall) USE(Alltoallv, Ialltoallv) \
          USE(Alltoallw, Ialltoallw) USE(Reduce, Ireduce) USE(Allreduce, Iallreduce) \
              USE(Reduce_scatter, Ireduce_scatter) USE(Reduce_scatter_block, Ireduce_scatter_block) USE(Scan, Iscan) \
                  USE(Exscan, Iexscan) USE(Neighbor_allgather, Ineighbor_allgather) \
                      USE(Neighbor_allgatherv, Ineighbor_allgatherv) USE(Neighbor_alltoall, Ineighbor_alltoall) \
                          USE(Neighbor_alltoallv, Ineighbor_alltoallv) USE(Neighbor_alltoallw, Ineighbor_alltoallw)
// clang-format on
#if MPI_VERSION >= 4
// clang-format off
#define DOVETAIL_MPI_LARGE_COLLECTIVES(USE) \
  USE(Bcast_c, Ibcast_c) \
  USE(Gather_c, Igather_c) \
  USE(Gatherv_c, Igatherv_c) USE(Scatter_c, Iscatter_c) USE(Scatterv_c, Iscatterv_c) USE(Allgather_c, Iallgather_c) \
      USE(Allgatherv_c, Iallgatherv_c) USE(Alltoall_c, Ialltoall_c) USE(Alltoallv_c, Ialltoallv_c) \
          USE(Alltoallw_c, Ialltoallw_c) USE(Reduce_c, Ireduce_c) USE(Allreduce_c, Iallreduce_c) \
              USE(Reduce_scatter_c, Ireduce_scatter_c) USE(Reduce_scatter_block_c, Ireduce_scatter_block_c) \
                  USE(Scan_c, Iscan_c) USE(Exscan_c, Iexscan_c) USE(Neighbor_allgather_c, Ineighbor_allgather_c) \
                      USE(Neighbor_allgatherv_c, Ineighbor_allgatherv_c) \
                          USE(Neighbor_alltoall_c, Ineighbor_alltoall_c) \
                              USE(Neighbor_alltoallv_c, Ineighbor_alltoallv_c) \
                                  USE(Neighbor_alltoallw_c, Ineighbor_alltoallw_c)
// clang-format on
#else
#define DOVETAIL_MPI_LARGE_COLLECTIVES(USE)
#endif

// A call of MPI, by its name and its functions.
#define DOVETAIL_MPI_NAME(call, form)                      \
  struct call {                                            \
    static constexpr const char* name = "MPI_" #call;      \
    static constexpr auto with_request = &Functions::form; \
  };
DOVETAIL_MPI_COLLECTIVES(DOVETAIL_MPI_NAME)
DOVETAIL_MPI_LARGE_COLLECTIVES(DOVETAIL_MPI_NAME)
#undef DOVETAIL_MPI_NAME

#define DOVETAIL_MPI_NAME(call, form, received)            \
  struct call {                                            \
    static constexpr const char* name = "MPI_" #call;      \
    static constexpr auto blocking = &Functions::call;     \
    static constexpr auto with_request = &Functions::form; \
    static constexpr auto receive = &Functions::received;  \
  };
DOVETAIL_MPI_NAME(Send, Isend, Irecv)
DOVETAIL_MPI_NAME(Ssend, Issend, Irecv)
DOVETAIL_MPI_NAME(Rsend, Irsend, Irecv)
DOVETAIL_MPI_NAME(Recv, Irecv, Irecv)
DOVETAIL_MPI_NAME(Mrecv, Imrecv, Irecv)
DOVETAIL_MPI_NAME(Sendrecv, Isend, Irecv)
#if MPI_VERSION >= 4
DOVETAIL_MPI_NAME(Send_c, Isend_c, Irecv_c)
DOVETAIL_MPI_NAME(Ssend_c, Issend_c, Irecv_c)
DOVETAIL_MPI_NAME(Rsend_c, Irsend_c, Irecv_c)
DOVETAIL_MPI_NAME(Recv_c, Irecv_c, Irecv_c)
DOVETAIL_MPI_NAME(Mrecv_c, Imrecv_c, Irecv_c)
DOVETAIL_MPI_NAME(Sendrecv_c, Isend_c, Irecv_c)
#endif
#undef DOVETAIL_MPI_NAME

}  // namespace

void lead_calls(bool (*lead_call)(const char* name, void (*target)())) {
  const auto lead_to = [lead_call](const char* name, auto* wrapper) {
    lead_call(name, reinterpret_cast<void (*)()>(wrapper));
  };
  lead_to("MPI_Send", send<Send, int>);
  lead_to("MPI_Ssend", send<Ssend, int>);
  lead_to("MPI_Rsend", send<Rsend, int>);
  lead_to("MPI_Recv", recv<Recv, int>);
  lead_to("MPI_Mrecv", mrecv<Mrecv, int>);
  lead_to("MPI_Sendrecv", sendrecv<Sendrecv, int>);
  lead_to("MPI_Wait", wait);
  lead_to("MPI_Waitall", waitall);
  lead_to("MPI_Waitany", waitany);
  lead_to("MPI_Waitsome", waitsome);
  lead_to("MPI_Probe", probe);
  lead_to("MPI_Mprobe", mprobe);
#define DOVETAIL_MPI_LEAD(blocking, form) lead<blocking>(lead_call, mpi().form);
  DOVETAIL_MPI_COLLECTIVES(DOVETAIL_MPI_LEAD)
#if MPI_VERSION >= 4
  if (mpi().Isend_c == nullptr) {
    return;  // the library is older than the header
  }
  lead_to("MPI_Send_c", send<Send_c, MPI_Count>);
  lead_to("MPI_Ssend_c", send<Ssend_c, MPI_Count>);
  lead_to("MPI_Rsend_c", send<Rsend_c, MPI_Count>);
  lead_to("MPI_Recv_c", recv<Recv_c, MPI_Count>);
  lead_to("MPI_Mrecv_c", mrecv<Mrecv_c, MPI_Count>);
  lead_to("MPI_Sendrecv_c", sendrecv<Sendrecv_c, MPI_Count>);
  DOVETAIL_MPI_LARGE_COLLECTIVES(DOVETAIL_MPI_LEAD)
#endif
#undef DOVETAIL_MPI_LEAD
}

}  // namespace dovetail::interpose::mpi
