#include "simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace scaling {
namespace {

namespace s4u = simgrid::s4u;

// More than any program computes.
constexpr double endless = 1e30;

struct TaskState {
  std::uint32_t waits = 0;     ///< Tasks and messages that must come before it begins.
  std::uint32_t messages = 0;  ///< That must come before it completes, once its body has ended.
  std::uint32_t receives = 0;
  std::uint32_t leaving = 0;  ///< Messages that it has sent and that have not gone.
  bool has_returned = false;
};

struct RankState {
  // The highest priority first, then the lowest number.
  std::priority_queue<std::pair<int, std::int64_t>> ready;
  unsigned idle_workers = 0;
  double library_is_free_at = 0;
  bool is_idle = false;
  bool is_listed = false;  ///< In `to_dispatch_`.
  s4u::ExecPtr spin;       ///< What a rank does that waits and does not sleep.
  s4u::Host* node = nullptr;
};

// The network card of a node puts one message after the other on its link.
struct NodeState {
  std::deque<std::uint32_t> leaving;
  bool is_sending = false;
};

class Simulation {
 public:
  Simulation(const Graph& graph, const Machine& machine)
      : graph_(graph),
        machine_(machine),
        costs_(machine.of(graph.variant)),
        successors_(successors_of(graph, false)),
        followers_(successors_of(graph, true)),
        sent_(sent_by(graph)),
        tasks_(graph.tasks.size()),
        ranks_(graph.ranks),
        left_(graph.tasks.size()) {
    for (const Edge& edge : graph.edges) ++tasks_[edge.after].waits;
    for (const Message& message : graph.messages) {
      if (message.to_task == no_task) continue;
      TaskState& state = tasks_[message.to_task];
      ++state.receives;
      ++(graph.tasks[message.to_task].ends_by_message ? state.messages : state.waits);
    }
    build_nodes();
  }

  SimulatedRun run() {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { ended(activity); });
    for (std::uint32_t number = 0; number < graph_.messages.size(); ++number) {
      if (graph_.messages[number].from_task == no_task) send(number);
    }
    for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
      if (tasks_[task].waits == 0) enqueue(task);
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) dispatch(rank);
    has_begun_ = true;
    engine().run();
    if (left_ > 0) {
      throw BadInput("the graph cannot end: " + std::to_string(left_) +
                     " tasks wait for each other, or for messages that nobody sends");
    }
    return run_;
  }

  static s4u::Engine& engine() {
    static s4u::Engine* const made = [] {
      // A message takes latency + bytes / bandwidth: without the model of TCP's window and start.
      static std::array<std::string, 6> words{"dovetail-scaling",           "--cfg=network/model:CM02",
                                              "--cfg=network/TCP-gamma:0",  "--cfg=network/crosstraffic:0",
                                              "--cfg=surf/precision:1e-12", "--log=root.thres:error"};
      static std::array<char*, words.size() + 1> arguments{};
      std::transform(words.begin(), words.end(), arguments.begin(), [](std::string& word) { return word.data(); });
      static auto count = static_cast<int>(words.size());
      return new s4u::Engine(&count, arguments.data());
    }();
    return *made;
  }

 private:
  void build_nodes() {
    engine();
    on_node_ = machine_.ranks_per_node == 0 ? graph_.ranks : machine_.ranks_per_node;
    const bool is_full = std::uint64_t{std::min(on_node_, graph_.ranks)} * machine_.workers > machine_.cores;
    takes_turns_ = costs_.spins && machine_.slice > 0 && is_full;
    shares_cores_ = is_full && !takes_turns_;
    spawns_beside_ = std::uint64_t{std::min(on_node_, graph_.ranks)} * (machine_.workers + 1) <= machine_.cores;
    const std::uint32_t nodes = (graph_.ranks + on_node_ - 1) / on_node_;
    nodes_.resize(nodes);
    s4u::NetZone* const zone = s4u::create_star_zone("machine");
    std::vector<s4u::Host*> hosts;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const std::string name = std::to_string(node);
      s4u::Host* const host =
          zone->create_host("node " + name, machine_.speed)->set_core_count(static_cast<int>(machine_.cores));
      // The card puts one message after the other on the link, which takes its time there (`put_on_link`). What comes from several nodes shares the
      // link of the node where it comes.
      s4u::Link* const down = zone->create_link("down " + name, machine_.bandwidth);
      down->set_latency(machine_.latency);
      down->seal();
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);
      zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(down)}, false);
      hosts.push_back(host);
    }
    zone->seal();
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      ranks_[rank].node = hosts[rank / on_node_];
      ranks_[rank].idle_workers = machine_.workers;
    }
  }

  void enqueue(std::uint32_t task) {
    ranks_[graph_.tasks[task].rank].ready.emplace(graph_.tasks[task].priority, -std::int64_t{task});
  }

  // A body that takes no time ends while it is dispatched. So the outermost call works off what the inner ones ask for.
  void dispatch(std::uint32_t rank) {
    if (ranks_[rank].is_listed) return;
    ranks_[rank].is_listed = true;
    to_dispatch_.push_back(rank);
    if (is_dispatching_) return;
    is_dispatching_ = true;
    while (!to_dispatch_.empty()) {
      const std::uint32_t next = to_dispatch_.front();
      to_dispatch_.pop_front();
      ranks_[next].is_listed = false;
      begin_what_is_ready(next);
    }
    is_dispatching_ = false;
  }

  void begin_what_is_ready(std::uint32_t rank) {
    RankState& state = ranks_[rank];
    while (state.idle_workers > 0 && !state.ready.empty()) {
      const auto task = static_cast<std::uint32_t>(-state.ready.top().second);
      state.ready.pop();
      --state.idle_workers;
      begin(task);
    }
    const bool is_idle = state.idle_workers == machine_.workers && left_ > 0;
    if (is_idle == state.is_idle) return;
    state.is_idle = is_idle;
    if (!is_idle) {
      end_spin(state);
    } else if (shares_cores_ && costs_.spins) {
      begin_spin(state);
    }
  }

  // It takes a core from others until it has something to do.
  static void begin_spin(RankState& state) {
    state.spin = execution(state, endless);
    state.spin->start();
  }
  // SimGrid takes the core from what is suspended at once, and from what is cancelled later.
  void end_spin(RankState& state) {
    if (state.spin == nullptr) return;
    state.spin->suspend();
    suspended_.push_back(std::move(state.spin));
    state.spin = nullptr;
  }

  static s4u::ExecPtr execution(const RankState& state, double work) {
    s4u::ExecPtr made = s4u::Exec::init();
    made->set_host(state.node);
    made->set_flops_amount(work);
    return made;
  }

  double messages_of(std::uint32_t task) const {
    return static_cast<double>(sent_.begin[task + 1] - sent_.begin[task]) + tasks_[task].receives;
  }

  void begin(std::uint32_t task) {
    const double sends = static_cast<double>(sent_.begin[task + 1] - sent_.begin[task]);
    const double spawning = spawns_beside_ ? 0 : costs_.spawn;
    const double overhead = costs_.task + spawning + sends * costs_.send + tasks_[task].receives * costs_.receive;
    const Task& what = graph_.tasks[task];
    run_.computing += what.seconds / machine_.speed;
    run_.overhead += overhead;
    ++run_.events;
    RankState& rank = ranks_[what.rank];
    const double work = what.seconds + overhead * machine_.speed;
    const double alone = work / machine_.speed;
    if (shares_cores_) {
      start(execution(rank, work), [this, task] { leave_body(task); });
    } else {
      // It has a core when it has one: there is nothing to share.
      after(takes_turns_ ? seconds_in_turns(what.rank, alone) : alone, [this, task] { leave_body(task); });
    }
  }

  template <class Pointer>
  void start(const Pointer& activity, std::function<void()> then) {
    then_.emplace(activity.get(), Pending{activity, std::move(then)});
    activity->start();
  }

  void ended(const s4u::Activity& activity) {
    const auto found = then_.find(&activity);
    if (found == then_.end()) return;
    const Pending pending = std::move(found->second);
    then_.erase(found);
    keep_a_while(pending.activity);
    pending.then();
  }

  // SimGrid uses an activity that has ended for a moment more.
  void keep_a_while(s4u::ActivityPtr activity) {
    constexpr std::size_t kept = 4096;
    ended_.push_back(std::move(activity));
    if (ended_.size() > kept) ended_.pop_front();
  }

  static void after(double seconds, std::function<void()> then) {
    if (seconds <= 0) {
      then();
      return;
    }
    simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + seconds, std::move(then));
  }

  // The ranks of a core take turns, each for a slice, whether they compute or spin. From now until one has computed for so long.
  double seconds_in_turns(std::uint32_t rank, double computes) const {
    const std::uint32_t first = rank / on_node_ * on_node_;
    const std::uint32_t on_this_node = std::min(on_node_, graph_.ranks - first);
    const std::uint32_t place = rank - first;
    const std::uint32_t of_core = (on_this_node - place % machine_.cores + machine_.cores - 1) / machine_.cores;
    const double slice = machine_.slice;
    const double period = slice * of_core;
    const double now = s4u::Engine::get_clock();
    // Since the begin of its last turn, or until the next one.
    const std::uint32_t turn = place / machine_.cores;
    const double since = std::fmod(now - turn * slice + period, period);
    const double until = since < slice ? 0 : period - since;
    const double rest = since < slice ? slice - since : slice;  // of that turn
    if (computes <= rest) return until + computes;
    const double more = computes - rest;
    const double turns = std::ceil(more / slice) - 1;  // that are full
    return until + rest + (period - slice) + turns * period + (more - turns * slice);
  }

  // The worker waits for the library, if that lets in one at a time.
  void leave_body(std::uint32_t task) {
    RankState& rank = ranks_[graph_.tasks[task].rank];
    const double locked = costs_.locked * messages_of(task);
    if (locked <= 0) {
      has_returned(task);
      return;
    }
    const double now = s4u::Engine::get_clock();
    rank.library_is_free_at = std::max(rank.library_is_free_at, now) + locked;
    run_.locked += rank.library_is_free_at - now;
    after(rank.library_is_free_at - now, [this, task] { has_returned(task); });
  }

  void has_returned(std::uint32_t task) {
    tasks_[task].leaving = static_cast<std::uint32_t>(sent_.begin[task + 1] - sent_.begin[task]);
    for (std::uint64_t i = sent_.begin[task]; i < sent_.begin[task + 1]; ++i) send(sent_.of[i]);
    tasks_[task].has_returned = true;
    const std::uint32_t rank = graph_.tasks[task].rank;
    ++ranks_[rank].idle_workers;
    release(followers_, task);
    complete_if_all_is_over(task);
    dispatch(rank);
  }

  void release(const Groups& successors, std::uint32_t task) {
    for (std::uint64_t i = successors.begin[task]; i < successors.begin[task + 1]; ++i) {
      if (--tasks_[successors.of[i]].waits == 0) enqueue(successors.of[i]);
    }
  }

  void complete_if_all_is_over(std::uint32_t task) {
    const TaskState& state = tasks_[task];
    if (!state.has_returned || state.messages > 0 || state.leaving > 0) return;
    --left_;
    run_.seconds = s4u::Engine::get_clock();
    release(successors_, task);
    if (left_ == 0) {
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) dispatch(rank);
    }
  }

  void send(std::uint32_t number) {
    ++run_.events;
    const Message& message = graph_.messages[number];
    if (node_of(message.from_rank) == node_of(message.to_rank)) {
      // Each core copies within the node at the whole rate, and the copy is the transfer.
      const double bytes = static_cast<double>(message.bytes);
      after(machine_.local_latency + bytes / machine_.local_bandwidth, [this, number] {
        has_gone(number);
        has_come(number);
      });
      return;
    }
    NodeState& node = nodes_[node_of(message.from_rank)];
    node.leaving.push_back(number);
    if (!node.is_sending) put_on_link(node);
  }

  std::uint32_t node_of(std::uint32_t rank) const { return rank / on_node_; }

  void put_on_link(NodeState& node) {
    node.is_sending = true;
    while (!node.leaving.empty()) {
      const std::uint32_t number = node.leaving.front();
      node.leaving.pop_front();
      start_message(number);
      const double seconds = static_cast<double>(graph_.messages[number].bytes) / machine_.bandwidth;
      if (seconds > 0) {
        after(seconds, [this, number, &node] {
          has_gone(number);
          put_on_link(node);
        });
        return;
      }
      has_gone(number);
    }
    node.is_sending = false;
  }

  // Its memory may be written again.
  void has_gone(std::uint32_t number) {
    const std::uint32_t task = graph_.messages[number].from_task;
    if (task == no_task) return;
    --tasks_[task].leaving;
    complete_if_all_is_over(task);
    if (has_begun_) dispatch(graph_.tasks[task].rank);
  }

  void start_message(std::uint32_t number) {
    const Message& message = graph_.messages[number];
    s4u::CommPtr comm = s4u::Comm::sendto_init(ranks_[message.from_rank].node, ranks_[message.to_rank].node);
    // SimGrid takes a message of no bytes for one that never ends.
    comm->set_payload_size(std::max<std::uint64_t>(message.bytes, 1));
    start(comm, [this, number] { has_come(number); });
  }

  void has_come(std::uint32_t number) {
    const RankState& rank = ranks_[graph_.messages[number].to_rank];
    // A rank that works looks between two bodies.
    after(rank.idle_workers == machine_.workers ? costs_.notice : 0, [this, number] { arrive(number); });
  }

  void arrive(std::uint32_t number) {
    const std::uint32_t task = graph_.messages[number].to_task;
    if (task == no_task) return;
    const std::uint32_t rank = graph_.tasks[task].rank;
    if (graph_.tasks[task].ends_by_message) {
      --tasks_[task].messages;
      complete_if_all_is_over(task);
    } else if (--tasks_[task].waits == 0) {
      enqueue(task);
    }
    if (has_begun_) dispatch(rank);
  }

  struct Pending {
    s4u::ActivityPtr activity;
    std::function<void()> then;
  };

  const Graph& graph_;
  const Machine& machine_;
  const VariantCosts& costs_;
  const Groups successors_;  ///< That may begin when a task has completed.
  const Groups followers_;   ///< That may begin when its body has ended.
  const Groups sent_;
  std::vector<TaskState> tasks_;
  std::vector<RankState> ranks_;
  std::vector<NodeState> nodes_;
  std::uint64_t left_;
  std::uint32_t on_node_ = 1;
  bool shares_cores_ = false;
  bool spawns_beside_ = false;  ///< The thread of a rank that spawns has a core of its own.
  bool takes_turns_ = false;    ///< Ranks that never sleep, and are more than a node has cores.
  bool has_begun_ = false;
  bool is_dispatching_ = false;
  std::deque<std::uint32_t> to_dispatch_;  ///< Ranks whose idle workers may have something to begin.
  std::unordered_map<const s4u::Activity*, Pending> then_;
  std::deque<s4u::ActivityPtr> ended_;
  std::vector<s4u::ExecPtr> suspended_;
  SimulatedRun run_;
};

}  // namespace

SimulatedRun simulate(const Graph& graph, const Machine& machine) { return Simulation(graph, machine).run(); }

}  // namespace scaling
