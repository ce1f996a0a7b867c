#include "sim/packet/simulate.h"

#include "sim/packet/oracle.h"

namespace flitwatch::sim::packet {

namespace {

template <class Engine>
void collect_links(const Network& network, std::uint32_t vcs, const Engine& engine, RunResult& result) {
  const std::size_t links = network.links();
  result.link_bytes.resize(links);
  result.link_wait_ps.resize(links);
  result.vc_bytes.resize(links * vcs);
  result.vc_packets.resize(links * vcs);
  result.vc_flits.resize(links * vcs);
  result.vc_stall_ps.resize(links * vcs);
  std::vector<std::uint32_t> endpoint_of(network.ports(), kNil);
  for (std::uint32_t e = 0; e < network.endpoints(); ++e)
    endpoint_of[network.router_of(e) * network.stride() + network.eject_port(e)] = e;
  for (LinkId l = 0; l < links; ++l) {
    const PortId port = network.port_of_link(l);
    result.link_bytes[l] = engine.port_bytes(port);
    result.link_wait_ps[l] = engine.port_wait_ps(port);
    const std::size_t row = std::size_t{l} * vcs;
    if (const std::uint32_t e = endpoint_of[port]; e != kNil) {  // a node takes what comes: nothing stalls behind it
      result.vc_bytes[row] = engine.port_bytes(port);
      result.vc_packets[row] = engine.ejected_packets(e);
      result.vc_flits[row] = engine.ejected_flits(e);
      continue;
    }
    const bool injects = port >= network.router_ports();
    for (std::uint32_t vc = 0; vc < (injects ? 1 : vcs); ++vc) {
      const ChannelCounters& c = engine.counters(port, vc);
      result.vc_bytes[row + vc] = c.bytes;
      result.vc_packets[row + vc] = c.packets;
      result.vc_flits[row + vc] = c.flits;
      result.vc_stall_ps[row + vc] = c.stall_ps;
    }
  }
}

template <class Engine, class Policy, class... Extra>
RunResult run(const Network& network, const Policy& routing, const WorkloadSpec& spec, EngineOptions options, RunControl& control,
              Extra... extra) {
  Workload workload(spec, network.endpoints());
  Engine engine(network, routing, workload, options, extra...);
  RunResult result;
  result.statistics = engine.run(control);
  result.workload_end = workload.end();
  result.unfinished = workload.unfinished();
  result.vcs = routing.vcs();
  if (result.unfinished && result.statistics.conserved) {
    result.statistics.conserved = false;
    result.statistics.violations.push_back(std::to_string(result.unfinished) + " operations never completed: a receive waits for a message that no one sends");
  }
  collect_links(network, routing.vcs(), engine, result);
  result.nics = engine.nic_counters();
  result.samples = engine.samples();
  for (SampleRecord& s : result.samples) s.link = network.link_of_port(s.link);
  result.rank_end_ps = workload.rank_end_ps();
  result.rank_compute_ps = workload.rank_compute_ps();
  result.send_ps = workload.send_ps();
  return result;
}

}  // namespace

RunResult simulate(const Network& network, const Routing& routing, const WorkloadSpec& workload, const EngineOptions& options,
                   EngineKind kind, RunControl& control) {
  return std::visit(
      [&](const auto& policy) {
        using Policy = std::decay_t<decltype(*policy)>;
        if (kind == EngineKind::kEager) return run<Engine<Policy>>(network, *policy, workload, options, control);
        const Arbitration order = kind == EngineKind::kOracleOldest ? Arbitration::kOldestFirst : Arbitration::kRoundRobin;
        return run<Oracle<Policy>>(network, *policy, workload, options, control, order);
      },
      routing);
}

}  // namespace flitwatch::sim::packet
