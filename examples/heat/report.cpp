#include "report.hpp"

#include <iomanip>
#include <sstream>

namespace heat {

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << value;
  return text.str();
}

double Report::hidden_share() const noexcept { return io_time > 0 ? hidden / io_time : 0.0; }

double Report::bandwidth() const noexcept { return io_time > 0 ? static_cast<double>(bytes_written) / io_time : 0.0; }

std::string to_text(const Report& report) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2);
  text << report.shape.rows << " x " << report.shape.columns << " cells, " << report.steps << " steps, "
       << report.workers << " workers, " << name_of(report.io) << (report.direct ? " direct" : " buffered") << " I/O, "
       << report.checkpoints << " checkpoints of " << std::setprecision(1)
       << static_cast<double>(report.checkpoint_bytes) * 1e-6 << " MB\n"
       << std::setprecision(2) << "total " << report.total << " s, compute " << report.compute << " s, I/O "
       << report.io_time << " s, hidden " << std::setprecision(0) << 100 * report.hidden_share() << " %, "
       << report.bandwidth() * 1e-6 << " MB/s\n"
       << "checksum " << hexadecimal(report.checksum) << "\n";
  return text.str();
}

std::string to_json(const Report& report) {
  std::ostringstream text;
  text << std::boolalpha << std::setprecision(9);
  text << "{\"variant\": \"" << name_of(report.io) << "\", \"direct\": " << report.direct
       << ", \"rows\": " << report.shape.rows << ", \"columns\": " << report.shape.columns
       << ", \"block\": " << report.shape.block << ", \"steps\": " << report.steps
       << ", \"restarted_from\": " << report.restarted_from << ", \"workers\": " << report.workers
       << ", \"checkpoints\": " << report.checkpoints << ", \"checkpoint_bytes\": " << report.checkpoint_bytes
       << ", \"bytes_written\": " << report.bytes_written << ", \"total_s\": " << report.total
       << ", \"compute_s\": " << report.compute << ", \"io_s\": " << report.io_time
       << ", \"hidden_s\": " << report.hidden << ", \"hidden_share\": " << report.hidden_share()
       << ", \"bandwidth_mb_s\": " << report.bandwidth() * 1e-6 << ", \"checksum\": \"" << hexadecimal(report.checksum)
       << "\"";
  if (report.trace) {
    const dovetail::trace::Summary& trace = *report.trace;
    text << ", \"trace\": {\"total_s\": " << trace.total << ", \"compute_s\": " << trace.compute
         << ", \"io_s\": " << trace.io << ", \"bytes_read\": " << trace.bytes_read
         << ", \"bytes_written\": " << trace.bytes_written << ", \"hidden_s\": " << trace.hidden
         << ", \"hidden_share\": " << trace.hidden_share() << "}";
  }
  text << "}\n";
  return text.str();
}

}  // namespace heat
