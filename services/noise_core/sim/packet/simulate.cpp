#include "sim/packet/simulate.h"

#include <stdexcept>
#include <string>

#include "sim/packet/divided.h"
#include "sim/packet/oracle.h"

namespace flitwatch::sim::packet {

namespace {

// Throws std::invalid_argument if shares or classes of jobs are invalid.
void check_classes(const ClassOptions& options, std::uint32_t jobs) {
  if (options.classes.size() > kMaxClasses)
    throw std::invalid_argument("there are at most " + std::to_string(kMaxClasses) + " traffic classes");
  double sum = 0;
  for (const TrafficClass& one : options.classes) {
    if (!(one.minimum >= 0 && one.minimum <= one.maximum && one.maximum > 0 && one.maximum <= 1))
      throw std::invalid_argument("a traffic class's minimum lies between 0 and its maximum, the maximum at most at 1");
    sum += one.minimum;
  }
  if (sum > 1 + 1e-9) throw std::invalid_argument("the minima of the traffic classes add up to more than 1");
  if (options.of_job.size() != jobs) throw std::invalid_argument("every job needs a traffic class");
  for (std::uint8_t k : options.of_job)
    if (k >= options.classes.size()) throw std::invalid_argument("a job's traffic class does not exist");
}

// VC by VC, giving the engine's memory back meanwhile: counters of both forms never stand side by side.
template <class Engine>
void collect_links(const Network& network, std::uint32_t vcs, std::uint32_t classes, Engine& engine,
                   RunResult& result) {
  const std::size_t links = network.links();
  result.link_bytes.resize(links);
  result.link_wait_ps.resize(links);
  for (LinkId l = 0; l < links; ++l) result.link_wait_ps[l] = engine.port_wait_ps(network.port_of_link(l));
  std::vector<std::uint32_t> endpoint_of(links, kNil);
  for (std::uint32_t e = 0; e < network.endpoints(); ++e)
    endpoint_of[network.link_of_port(network.router_of(e) * network.stride() + network.eject_port(e))] = e;
  result.vc_bytes.reset(links * vcs);
  result.vc_packets.reset(links * vcs);
  result.vc_flits.reset(links * vcs);
  result.vc_stall_ps.reset(links * vcs);
  for (std::uint32_t vc = 0; vc < vcs; ++vc) {
    for (LinkId l = 0; l < links; ++l) {
      const PortId port = network.port_of_link(l);
      const bool injects = port >= network.router_ports(), ejects = !injects && network.ejects(port);
      if (vc >= classes && (injects || ejects)) continue;
      // A node takes what comes: nothing stalls behind it.
      const ChannelCounters c = ejects ? engine.ejected(endpoint_of[l], vc) : engine.counters(port, vc);
      if (!c.packets) continue;
      const std::size_t at = std::size_t{vc} * links + l;
      result.vc_bytes[at] = c.bytes;
      result.link_bytes[l] += c.bytes;
      result.vc_packets[at] = c.packets;
      result.vc_flits[at] = c.flits;
      result.vc_stall_ps[at] = c.stall_ps;
    }
    engine.forget_counters(vc);
  }
}

template <class Engine, class Policy, class... Extra>
RunResult run(const Network& network, const Policy& routing, const WorkloadSpec& spec, EngineOptions options,
              RunControl& control, const Extra&... extra) {
  if (Workload::chooses(spec) && (!options.nic_protocol || !std::is_same_v<Policy, Dragonfly>))
    throw std::invalid_argument("ranks that choose their routing mode need a dragonfly and the NIC protocol");
  Workload workload(spec, network.endpoints());
  Engine engine(network, routing, workload, options, extra...);
  RunResult result;
  result.statistics = engine.run(control);
  result.workload_end = workload.end();
  result.unfinished = workload.unfinished();
  result.vcs = routing.vcs();
  if (result.unfinished && result.statistics.conserved) {
    result.statistics.conserved = false;
    result.statistics.violations.push_back(
        std::to_string(result.unfinished) +
        " operations never completed: a receive waits for a message that no one sends");
  }
  collect_links(network, routing.vcs(), options.classes.count(), engine, result);
  result.nics = engine.nic_counters();
  result.samples = engine.samples();
  for (SampleRecord& s : result.samples) s.link = network.link_of_port(s.link);
  if (!engine.congested().empty()) {
    result.congested_packets.resize(network.links());
    for (LinkId l = 0; l < network.links(); ++l)
      result.congested_packets[l] = engine.congested()[network.port_of_link(l)];
  }
  result.rank_end_ps = workload.rank_end_ps();
  result.rank_compute_ps = workload.rank_compute_ps();
  result.send_ps = workload.send_ps();
  result.send_start_ps = workload.send_start_ps();
  result.chosen_modes = workload.chosen_modes();
  return result;
}

void check_divided(const EngineOptions& options, EngineKind kind) {
  const char* unfit = kind != EngineKind::kEager                   ? "the oracle"
                      : !options.classes.classes.empty()           ? "traffic classes"
                      : options.control.kind != ControlKind::kNone ? "congestion control"
                      : options.sampling                           ? "sampling"
                                                                   : nullptr;
  if (unfit) throw std::invalid_argument(std::string(unfit) + " cannot be divided; leave out the threads");
}

}  // namespace

RunResult simulate(const Network& network, const Routing& routing, const WorkloadSpec& workload,
                   const EngineOptions& options, EngineKind kind, RunControl& control) {
  return std::visit(
      [&](const auto& policy) {
        using Policy = std::decay_t<decltype(*policy)>;
        if constexpr (std::is_same_v<Policy, Tree>)
          if (policy->output_queues()) {
            if (options.threads || !options.classes.classes.empty() || options.control.kind != ControlKind::kNone ||
                kind != EngineKind::kEager)
              throw std::invalid_argument(
                  "output queues go without threads, traffic classes, congestion control and the oracle");
            return run<Engine<QueuedTree, 11>>(network, QueuedTree(*policy), workload, options, control);
          }
        if (options.threads) {
          check_divided(options, kind);
          const Division division = policy->divide();
          if constexpr (std::is_same_v<Policy, Dragonfly>)
            if (options.packet_bytes >= 1024)
              return run<DividedEngine<Policy, 3>>(network, *policy, workload, options, control, division,
                                                   options.threads);
          return run<DividedEngine<Policy, 11>>(network, *policy, workload, options, control, division,
                                                options.threads);
        }
        if (!options.classes.classes.empty()) {
          check_classes(options.classes, options.jobs);
          if (kind != EngineKind::kEager)
            throw std::invalid_argument("the oracle has no traffic classes; use the eager engine");
          const ByClass<Policy> by_class(*policy, options.classes);
          return run<Engine<ByClass<Policy>, 11>>(network, by_class, workload, options, control);
        }
        if (kind == EngineKind::kEager) {
          // Trees and tori have few channels, and small packets many credits on their way: worth a second cache line a
          // channel.
          if constexpr (std::is_same_v<Policy, Dragonfly>)
            if (options.packet_bytes >= 1024)
              return run<Engine<Policy, 3>>(network, *policy, workload, options, control);
          return run<Engine<Policy, 11>>(network, *policy, workload, options, control);
        }
        const Arbitration order =
            kind == EngineKind::kOracleOldest ? Arbitration::kOldestFirst : Arbitration::kRoundRobin;
        return run<Oracle<Policy>>(network, *policy, workload, options, control, order);
      },
      routing);
}

}  // namespace flitwatch::sim::packet
