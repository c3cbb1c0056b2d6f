// Which of the processes of a program this one is, as what has started them says.
#pragma once

namespace dovetail::base {

struct ProcessRank {
  int rank = 0;
  int size = 1;  ///< How many processes there are.
};

/// As MPICH's starter says, others that speak PMI 1 (`dovetail launch`), or Open MPI's; 0 of 1 if none has started this process. The
/// environment is asked: not while another thread changes it.
ProcessRank rank_of_process() noexcept;

}  // namespace dovetail::base
