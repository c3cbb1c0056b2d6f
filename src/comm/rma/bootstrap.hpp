// How the processes of a program find each other, before they can speak to each other.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace dovetail::comm::rma {

/// What the starter of the processes offers.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// Each process gives a card and gets those of all, by rank. By all at the same time; blocks. A card is printable, without spaces, and has at
  /// most 200 characters. @throws std::runtime_error, std::system_error
  virtual std::vector<std::string> exchange(const std::string& card) = 0;
};

/// That of the starter which started this process: one that speaks PMI 1 (MPICH's, `dovetail launch`), Open MPI's, or
/// gaspi_run; else the process is alone.
/// `limit`: of each answer. @throws std::runtime_error if it does not answer as it should, and in the child of a rank that has called this.
std::unique_ptr<Bootstrap> find_bootstrap(std::chrono::milliseconds limit);

/// @name Those that there are. Null: the process was not started so.
/// @{
std::unique_ptr<Bootstrap> find_pmi1_bootstrap(std::chrono::milliseconds limit);
/// Within a node. `why_not_mpi`: why ranks on several nodes do not find each other by MPI, which is said where they do not find each other; or empty.
std::unique_ptr<Bootstrap> find_openmpi_bootstrap(std::chrono::milliseconds limit, const std::string& why_not_mpi);
/// By MPI, where Open MPI's starter has started ranks on several nodes, or the user wants messages of MPI between nodes. Null also where MPI cannot be
/// used, and the reason in `why_not`.
std::unique_ptr<Bootstrap> find_mpi_bootstrap(std::chrono::milliseconds limit, std::string& why_not);
/// By GASPI, where gaspi_run has started the process. @throws std::runtime_error where GASPI cannot be used
std::unique_ptr<Bootstrap> find_gaspi_bootstrap(std::chrono::milliseconds limit);
/// @}

/// A variable of the environment as a number of at least `least`; -1 if it is not set. @throws std::runtime_error if it is none.
int number_from_starter(const char* variable, int least);

}  // namespace dovetail::comm::rma
