#include "simulation.hpp"

#include <mpi.h>

#include <algorithm>
#include <span>
#include <string>

#include "counts.hpp"

namespace refinement {
namespace {

// A rank looks at its own blocks; then all know of all of them.
std::vector<Mark> agree_on_marks(const Tree& tree, const Object& object, const Options& options, int rank, int ranks) {
  std::vector<Mark> marks(tree.size());
  const Shares shares(tree.size(), ranks);
  for (std::size_t block = shares.first(rank); block < shares.first(rank + 1); ++block) {
    marks[block] = mark_of(object, tree.cube(block), options.coarsest, options.finest);
  }
  const Counts counts(tree.size(), ranks, 1);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_SIGNED_CHAR, marks.data(), counts.counts.data(), counts.begins.data(),
                 MPI_SIGNED_CHAR, MPI_COMM_WORLD);
  return marks;
}

// Before there are values: the mesh that the object wants where it begins.
Tree first_tree(const Options& options, int rank, int ranks) {
  Tree tree(options.coarsest);
  const Object object(options.radius, 0, options.refinements);
  for (int level = options.coarsest; level < options.finest; ++level) {
    tree = tree.refined(agree_on_marks(tree, object, options, rank, ranks));
  }
  return tree;
}

// The sums of all blocks, added up in the order of the tree: so their bits do not depend on the ranks.
void append_sums(std::vector<double>& all, const Field& field, std::size_t blocks, int rank, int ranks) {
  const std::size_t variables = field.shape().variables;
  const Counts counts(blocks, ranks, static_cast<int>(variables));
  const std::span<const double> own = field.all_sums();
  std::vector<double> gathered(rank == 0 ? blocks * variables : 0);
  MPI_Gatherv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, gathered.data(), counts.counts.data(),
              counts.begins.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (std::size_t variable = 0; variable < variables && rank == 0; ++variable) {
    double sum = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
      sum += gathered[block * variables + variable];
    }
    all.push_back(sum);
  }
}

void require_tags(int highest) {
  int* most = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &is_set);
  int of_all = 0;
  MPI_Allreduce(&highest, &of_all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (is_set != 0 && of_all > *most) {
    throw BadInput("--finest: MPI has tags up to " + std::to_string(*most) + ", and this mesh needs " +
                   std::to_string(of_all) + ": choose a coarser one");
  }
}

}  // namespace

Outcome simulate(const Options& options, Variant& variant, int rank, int ranks) {
  Outcome outcome;
  outcome.tree = first_tree(options, rank, ranks);
  Tree& tree = outcome.tree;
  const auto make_field = [&](const Tree& of) {
    return std::make_unique<Field>(options.shape, Shares(of.size(), ranks).count(rank));
  };
  outcome.field = make_field(tree);
  const std::size_t first = Shares(tree.size(), ranks).first(rank);
  for (std::size_t block = 0; block < outcome.field->blocks(); ++block) {
    fill(outcome.field->before(0, block), tree.cube(first + block));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int turn = 0;; ++turn) {
    const double begin_refining = MPI_Wtime();
    const Exchange exchange(tree, Shares(tree.size(), ranks), rank);
    require_tags(exchange.highest_tag());
    variant.begin(*outcome.field, exchange);
    outcome.refining_seconds += MPI_Wtime() - begin_refining;
    variant.run(options.stages);
    outcome.updates += tree.size() * static_cast<std::uint64_t>(options.stages);
    append_sums(outcome.sums, *outcome.field, tree.size(), rank, ranks);
    if (turn == options.refinements) {
      break;
    }
    const double begin_moving = MPI_Wtime();
    const Object object(options.radius, turn + 1, options.refinements);
    const Tree next = tree.refined(agree_on_marks(tree, object, options, rank, ranks));
    const Moves moves(tree, next, rank, ranks);
    std::unique_ptr<Field> field = make_field(next);
    variant.move(moves, *outcome.field, options.stages, *field);
    outcome.moved += moves.arrivals().size();
    outcome.field = std::move(field);
    tree = next;
    outcome.refining_seconds += MPI_Wtime() - begin_moving;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  outcome.seconds = MPI_Wtime() - begin;
  return outcome;
}

}  // namespace refinement
