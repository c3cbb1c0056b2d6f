#include "task_variant.hpp"

#include <utility>
#include <vector>

namespace refinement {

void TaskVariant::begin(Field& field, const Exchange& exchange) {
  field_ = &field;
  exchange_ = &exchange;
}

void TaskVariant::run(int stages) {
  // A worker spawns: a thread beside them would take a core from them.
  runtime_
      .spawn([this, stages] {
        spawn_begin();
        for (int stage = 0; stage < stages; ++stage) {
          spawn_stage(stage, stage + 1 == stages);
        }
        for (std::size_t block = 0; block < field_->blocks(); ++block) {
          dovetail::spawn({.label = "add up", .access = {dovetail::in(field_->before(stages, block))}},
                          [field = field_, block, stages] {
                            add_up(field->before(stages, block), field->shape(), field->sums(block));
                          });
        }
        dovetail::wait();
      })
      .get();
}

void TaskVariant::move(const Moves& moves, Field& from, int stage, Field& to) {
  std::vector<std::vector<double>> coming = piece_buffers(moves.arrivals(), from.shape());
  std::vector<std::vector<double>> going = piece_buffers(moves.departures(), from.shape());
  // Pieces have nothing to do with each other, so these tasks need no accesses.
  runtime_
      .spawn([&, this] {
        for (std::size_t place = 0; place < going.size(); ++place) {
          const PieceMessage& message = moves.departures()[place];
          std::vector<double>& values = going[place];
          dovetail::spawn({.label = "send piece", .priority = message_priority}, [&, this] {
            moves.take(from, stage, message.piece, values);
            messages_->send(values.data(), bytes_of(values), message.rank, message.tag);
          });
        }
        for (std::size_t place = 0; place < coming.size(); ++place) {
          const PieceMessage& message = moves.arrivals()[place];
          std::vector<double>& values = coming[place];
          dovetail::spawn(
              {.label = "receive piece",
               .onready = [&,
                           this] { messages_->receive(values.data(), bytes_of(values), message.rank, message.tag); }},
              [&] { moves.put(to, message.piece, values); });
        }
        for (const Piece& piece : moves.stays()) {
          dovetail::spawn({.label = "keep piece"}, [&] {
            std::vector<double> values(piece.values(from.shape()));
            moves.take(from, stage, piece, values);
            moves.put(to, piece, values);
          });
        }
        dovetail::wait();
      })
      .get();
}

}  // namespace refinement
