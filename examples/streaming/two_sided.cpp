#include "dovetail/mpi.hpp"
#include "tasks.hpp"
#include "variant.hpp"

namespace streaming {
namespace {

class TwoSided : public Variant {
 public:
  TwoSided(Part& part, int workers) : part_(part), runtime_(options_for(part, workers)) {}

  void run() override {
    const Place& place = part_.place();
    run_tasks(
        runtime_, part_,
        [&](int /*chunk*/, int block) {
          if (!place.is_first()) {
            dovetail::mpi::irecv(part_.received(block).data(), part_.elements(), MPI_UINT64_T, place.upstream, block,
                                 MPI_COMM_WORLD);
          }
        },
        [&](int /*chunk*/, int block) {
          if (!place.is_last()) {
            dovetail::mpi::isend(part_.computed(block).data(), part_.elements(), MPI_UINT64_T, place.downstream, block,
                                 MPI_COMM_WORLD);
          }
        });
  }

 private:
  Part& part_;
  dovetail::Runtime runtime_;
};

}  // namespace

std::unique_ptr<Variant> make_two_sided(Part& part, int workers) { return std::make_unique<TwoSided>(part, workers); }

}  // namespace streaming
