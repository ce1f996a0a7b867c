// Python bindings of the packet engine: arrays in, arrays out. The readable interface is flitwatch_core/packet.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sim/packet/routing_choice.h"
#include "sim/packet/simulate.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace packet = flitwatch::sim::packet;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
std::vector<T> copy(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}
template <class T>
nb::object numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.begin(), owner));
}
template <class T>
nb::object numpy(std::vector<T>&& values) {
  const std::size_t n = values.size();
  return numpy(std::move(values), {n});
}

// [vc][link] in memory, [link][vc] to the reader.
nb::object numpy(packet::FlatArray<std::uint64_t>&& values, std::size_t links, std::size_t vcs) {
  auto* owned = new packet::FlatArray<std::uint64_t>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<packet::FlatArray<std::uint64_t>*>(p); });
  const std::size_t shape[2] = {links, vcs};
  const std::int64_t strides[2] = {1, static_cast<std::int64_t>(links)};
  return nb::cast(nb::ndarray<nb::numpy, std::uint64_t>(owned->data(), 2, shape, owner, strides));
}

struct Fabric {
  std::unique_ptr<packet::Network> network;
  std::unique_ptr<packet::Routing> routing;
};

std::unique_ptr<packet::Network> make_network(std::uint32_t routers, std::uint32_t endpoints, Array<std::uint32_t> src,
                                              Array<std::uint32_t> dst, Array<double> bandwidth_bps,
                                              Array<double> latency_ns, Array<std::int32_t> buffer_bytes,
                                              Array<std::uint32_t> order, double router_delay_ns,
                                              std::uint32_t largest_packet_bytes) {
  flitwatch::sim::LinkArrays links;
  links.src = copy(src);
  links.dst = copy(dst);
  links.bandwidth_bps = copy(bandwidth_bps);
  const flitwatch::sim::Graph graph(routers, endpoints, std::move(links));
  return std::make_unique<packet::Network>(graph,
                                           packet::LinkParameters{copy(latency_ns), copy(buffer_bytes), copy(order)},
                                           router_delay_ns, largest_packet_bytes);
}

std::vector<packet::GeneratorSpec> generators(nb::list rows) {
  std::vector<packet::GeneratorSpec> specs;
  for (nb::handle row : rows) {
    const nb::tuple t = nb::cast<nb::tuple>(row);
    specs.push_back({nb::cast<std::uint32_t>(t[0]), nb::cast<std::uint32_t>(t[1]), nb::cast<std::uint32_t>(t[2]),
                     nb::cast<std::uint64_t>(t[3]), nb::cast<std::uint64_t>(t[4]), nb::cast<double>(t[5]),
                     nb::cast<bool>(t[6]), nb::cast<bool>(t[7]), nb::cast<std::uint8_t>(t[8])});
  }
  return specs;
}

nb::dict describe(const packet::LatencyHistogram& histogram) {
  nb::dict latency;
  latency["mean"] = histogram.mean_ns();
  latency["p50"] = histogram.percentile_ns(0.5);
  latency["p99"] = histogram.percentile_ns(0.99);
  latency["max"] = histogram.max_ns();
  return latency;
}

nb::dict describe(packet::RunResult&& r, std::size_t links) {
  const packet::RunStatistics& s = r.statistics;
  nb::dict out;
  out["end_ps"] = r.workload_end;
  out["unfinished"] = r.unfinished;
  out["vcs"] = r.vcs;
  out["conserved"] = s.conserved;
  out["violations"] = s.violations;
  out["sent_bytes"] = s.sent_bytes;
  out["delivered_bytes"] = s.delivered_bytes;
  out["packets"] = s.packets;
  out["packet_hops"] = s.packet_hops;
  out["events"] = s.events;
  out["wakes"] = s.wakes;
  out["queued"] = s.queued;
  out["minimal"] = s.minimal;
  out["non_minimal"] = s.non_minimal;
  out["peak_packets"] = s.peak_packets;
  out["other_cpu_s"] = s.other_cpu_s;
  out["latency_ns"] = describe(s.latency);
  out["packets_of_hops"] = numpy(std::vector<std::uint64_t>(s.packets_of_hops.begin(), s.packets_of_hops.end()));
  nb::list jobs;
  for (const packet::JobStatistics& j : s.jobs) {
    nb::dict job;
    job["bytes"] = j.bytes;
    job["packets"] = j.packets;
    job["hops"] = j.hops;
    job["latency_ps"] = j.latency_ps;
    job["end_ps"] = j.end;
    jobs.append(job);
  }
  out["jobs"] = jobs;
  nb::list classes;
  for (const packet::ClassStatistics& c : s.classes) {
    nb::dict one;
    one["bytes"] = c.bytes;
    one["latency_ns"] = describe(c.latency);
    classes.append(one);
  }
  out["classes"] = classes;
  out["link_bytes"] = numpy(std::move(r.link_bytes));
  out["link_wait_ps"] = numpy(std::move(r.link_wait_ps));
  out["vc_bytes"] = numpy(std::move(r.vc_bytes), links, r.vcs);
  out["vc_packets"] = numpy(std::move(r.vc_packets), links, r.vcs);
  out["vc_flits"] = numpy(std::move(r.vc_flits), links, r.vcs);
  out["vc_stall_ps"] = numpy(std::move(r.vc_stall_ps), links, r.vcs);
  const auto nic = [&](auto field) {
    std::vector<std::uint64_t> values;
    for (const packet::NicCounters& n : r.nics) values.push_back(n.*field);
    return numpy(std::move(values));
  };
  out["nic_request_packets"] = nic(&packet::NicCounters::request_packets);
  out["nic_request_flits"] = nic(&packet::NicCounters::request_flits);
  out["nic_responses"] = nic(&packet::NicCounters::responses);
  out["nic_stalled_ps"] = nic(&packet::NicCounters::stalled_ps);
  out["nic_latency_ps"] = nic(&packet::NicCounters::latency_ps);
  const auto sample = [&]<class T>(T packet::SampleRecord::* field) {
    std::vector<T> values;
    values.reserve(r.samples.size());
    for (const packet::SampleRecord& record : r.samples) values.push_back(record.*field);
    return numpy(std::move(values));
  };
  out["sample_src"] = sample(&packet::SampleRecord::src);
  out["sample_dst"] = sample(&packet::SampleRecord::dst);
  out["sample_link"] = sample(&packet::SampleRecord::link);
  out["sample_job"] = sample(&packet::SampleRecord::job);
  out["sample_links"] = sample(&packet::SampleRecord::links);
  out["sample_marked"] = sample(&packet::SampleRecord::marked);
  out["congested_packets"] = numpy(std::move(r.congested_packets));
  out["rank_end_ps"] = numpy(std::move(r.rank_end_ps));
  out["rank_compute_ps"] = numpy(std::move(r.rank_compute_ps));
  out["send_ps"] = numpy(std::move(r.send_ps));
  out["send_start_ps"] = numpy(std::move(r.send_start_ps));
  out["chosen_modes"] = numpy(std::move(r.chosen_modes));
  return out;
}

}  // namespace

NB_MODULE(_packet, m) {
  m.doc() = "The packet engine: virtual cut-through with credits on dragonflies, trees and tori.";
  m.attr("CHOOSES") = static_cast<int>(packet::kChooses);
  m.attr("CHOOSES_ALL_TO_ALL") = static_cast<int>(packet::kChoosesAllToAll);

  nb::class_<packet::RunControl>(m, "Control", "Progress and cancellation of a run in another thread.")
      .def(nb::init<>())
      .def("cancel", [](packet::RunControl& c) { c.cancelled = true; })
      .def_prop_ro("delivered_bytes", [](packet::RunControl& c) { return c.delivered_bytes.load(); });
  nb::exception<packet::CancelledRun>(m, "CancelledRun");
  nb::exception<packet::EngineFault>(m, "EngineFault");

  nb::class_<packet::WorkloadSpec>(m, "WorkloadSpec", "What the endpoints do; see flitwatch_core.packet.Workload.")
      .def(nb::init<>())
      .def("set_ops",
           [](packet::WorkloadSpec& w, Array<std::uint8_t> kind, Array<std::uint32_t> rank, Array<std::uint32_t> match,
              Array<std::uint64_t> amount, Array<std::uint32_t> requires_begin, Array<std::uint32_t> required,
              Array<std::uint8_t> mode, Array<std::uint32_t> endpoint_of_rank, Array<std::uint8_t> job_of_rank) {
             w.ops = {copy(kind),           copy(rank),     copy(match), copy(amount),
                      copy(requires_begin), copy(required), copy(mode)};
             w.endpoint_of_rank = copy(endpoint_of_rank);
             w.job_of_rank = copy(job_of_rank);
           })
      .def("set_flows",
           [](packet::WorkloadSpec& w, Array<std::uint32_t> src, Array<std::uint32_t> dst, Array<std::uint64_t> bytes,
              int job) {
             w.flows = {copy(src), copy(dst), copy(bytes)};
             w.flow_job = static_cast<std::uint8_t>(job);
           })
      .def("set_generators",
           [](packet::WorkloadSpec& w, nb::list rows, Array<std::uint32_t> peers) {
             w.generators = generators(rows);
             w.peers = copy(peers);
           })
      .def_rw("default_mode", &packet::WorkloadSpec::default_mode)
      .def_rw("eager_bytes", &packet::WorkloadSpec::eager_bytes)
      .def_rw("local_ps_per_byte", &packet::WorkloadSpec::local_ps_per_byte)
      .def_rw("local_latency_ns", &packet::WorkloadSpec::local_latency_ns)
      .def("set_detours", [](packet::WorkloadSpec& w, double interval_ns,
                             double duration_ns) { w.detours = {interval_ns, duration_ns}; })
      .def("set_choice",
           [](packet::WorkloadSpec& w, double latency_factor, double stall_factor, std::uint32_t oldest,
              std::uint64_t threshold_bytes) { w.choice = {latency_factor, stall_factor, oldest, threshold_bytes}; })
      .def_rw("seed", &packet::WorkloadSpec::seed);

  nb::class_<packet::ControlOptions>(m, "CongestionControl")
      .def(nb::init<>())
      .def("set_pairs",
           [](packet::ControlOptions& o, std::uint32_t threshold_bytes, std::uint32_t window_bytes) {
             o.kind = packet::ControlKind::kPairs;
             o.threshold_bytes = threshold_bytes;
             o.window_bytes = window_bytes;
           })
      .def("set_dcqcn", [](packet::ControlOptions& o, std::uint32_t kmin, std::uint32_t kmax, double pmax, double g,
                           double additive_bps, double hyper_bps, double cnp_us, double alpha_us, double increase_us,
                           std::uint64_t increase_bytes, std::uint32_t fast_steps) {
        o.kind = packet::ControlKind::kDcqcn;
        o.kmin_bytes = kmin;
        o.kmax_bytes = kmax;
        o.pmax = pmax;
        o.g = g;
        o.additive_bps = additive_bps;
        o.hyper_bps = hyper_bps;
        o.cnp_interval_ps = static_cast<packet::Time>(cnp_us * 1e6);
        o.alpha_timer_ps = static_cast<packet::Time>(alpha_us * 1e6);
        o.increase_timer_ps = static_cast<packet::Time>(increase_us * 1e6);
        o.increase_bytes = increase_bytes;
        o.fast_steps = fast_steps;
      });

  nb::class_<packet::ClassOptions>(m, "ClassOptions", "Traffic classes and the class of each job.")
      .def(nb::init<>())
      .def("add", [](packet::ClassOptions& o, double minimum, double maximum,
                     std::uint32_t priority) { o.classes.push_back({minimum, maximum, priority}); })
      .def("set_jobs", [](packet::ClassOptions& o, Array<std::uint8_t> of_job) { o.of_job = copy(of_job); });

  nb::class_<Fabric>(m, "Fabric", "A network with its routing policy.")
      .def(
          "simulate",
          [](const Fabric& f, const packet::WorkloadSpec& workload, std::uint32_t packet_bytes, std::uint64_t seed,
             bool nic_protocol, std::uint32_t outstanding, bool sampling, double mark_after_ns, std::uint32_t jobs,
             int engine, packet::RunControl& control, const packet::ControlOptions& congestion,
             const packet::ClassOptions& classes, std::uint32_t threads) {
            const auto mark_after_ps = static_cast<packet::Time>(sampling ? mark_after_ns * 1000 : 0);
            packet::EngineOptions options{packet_bytes,  seed, nic_protocol, outstanding, sampling,
                                          mark_after_ps, jobs, congestion,   classes,     threads};
            packet::RunResult result;
            {
              nb::gil_scoped_release released;
              result = packet::simulate(*f.network, *f.routing, workload, options,
                                        static_cast<packet::EngineKind>(engine), control);
            }
            return describe(std::move(result), f.network->links());
          },
          "workload"_a, "packet_bytes"_a, "seed"_a, "nic_protocol"_a, "outstanding"_a, "sampling"_a, "mark_after_ns"_a,
          "jobs"_a, "engine"_a, "control"_a, "congestion"_a, "classes"_a, "threads"_a)
      .def(
          "static_table",
          [](const Fabric& f) {
            const auto* tree = std::get_if<std::unique_ptr<packet::Tree>>(f.routing.get());
            std::vector<std::uint32_t> table;
            if (tree) {
              const auto& ports = (*tree)->table();
              table.reserve(ports.size());
              for (std::size_t i = 0; i < ports.size(); ++i) {
                const std::uint32_t router = static_cast<std::uint32_t>(i % f.network->routers());
                table.push_back(ports[i] == 255 ? packet::kNil
                                                : f.network->link_of_port(router * f.network->stride() + ports[i]));
              }
            }
            return numpy(std::move(table), {tree ? f.network->endpoints() : 0, f.network->routers()});
          },
          "Links that a tree's static routes take: uint32[endpoint, router], 2^32 - 1 where none.");

  m.def(
      "dragonfly",
      [](std::uint32_t routers, std::uint32_t endpoints, Array<std::uint32_t> src, Array<std::uint32_t> dst,
         Array<double> bandwidth_bps, Array<double> latency_ns, Array<std::int32_t> buffer_bytes,
         Array<std::uint32_t> order, double router_delay_ns, std::uint32_t largest_packet_bytes,
         Array<std::int32_t> group, bool through_router, std::vector<double> bias_ns) {
        auto f = std::make_unique<Fabric>();
        f->network = make_network(routers, endpoints, src, dst, bandwidth_bps, latency_ns, buffer_bytes, order,
                                  router_delay_ns, largest_packet_bytes);
        packet::DragonflyOptions options;
        options.through_router = through_router;
        if (bias_ns.size() != 8) throw std::invalid_argument("bias_ns needs 8 values: 4 modes x hops 0 and 1");
        for (int i = 0; i < 8; ++i) options.bias_ps[i / 2][i % 2] = static_cast<packet::Time>(bias_ns[i] * 1000);
        f->routing =
            std::make_unique<packet::Routing>(std::make_unique<packet::Dragonfly>(*f->network, copy(group), options));
        return f.release();
      },
      nb::rv_policy::take_ownership);
  m.def(
      "tree",
      [](std::uint32_t routers, std::uint32_t endpoints, Array<std::uint32_t> src, Array<std::uint32_t> dst,
         Array<double> bandwidth_bps, Array<double> latency_ns, Array<std::int32_t> buffer_bytes,
         Array<std::uint32_t> order, double router_delay_ns, std::uint32_t largest_packet_bytes,
         Array<std::int32_t> level, Array<std::uint32_t> table, std::uint32_t vcs, bool output_queues) {
        auto f = std::make_unique<Fabric>();
        f->network = make_network(routers, endpoints, src, dst, bandwidth_bps, latency_ns, buffer_bytes, order,
                                  router_delay_ns, largest_packet_bytes);
        std::vector<std::uint8_t> ports;  // links [endpoint][router] become ports
        ports.reserve(table.size());
        for (std::size_t i = 0; i < table.size(); ++i) {
          const std::uint32_t link = table.data()[i], router = static_cast<std::uint32_t>(i % routers);
          if (link == packet::kNil) {
            ports.push_back(255);
            continue;
          }
          if (link >= f->network->links() || f->network->port_of_link(link) / f->network->stride() != router)
            throw std::invalid_argument("a route leaves router " + std::to_string(router) + " by link " +
                                        std::to_string(link) + ", which is not its own");
          ports.push_back(static_cast<std::uint8_t>(f->network->port_of_link(link) % f->network->stride()));
        }
        f->routing = std::make_unique<packet::Routing>(
            std::make_unique<packet::Tree>(*f->network, copy(level), std::move(ports), vcs, output_queues));
        return f.release();
      },
      nb::rv_policy::take_ownership);

  m.def(
      "torus",
      [](std::uint32_t routers, std::uint32_t endpoints, Array<std::uint32_t> src, Array<std::uint32_t> dst,
         Array<double> bandwidth_bps, Array<double> latency_ns, Array<std::int32_t> buffer_bytes,
         Array<std::uint32_t> order, double router_delay_ns, std::uint32_t largest_packet_bytes,
         std::vector<std::uint32_t> extents, Array<std::uint32_t> place) {
        auto f = std::make_unique<Fabric>();
        f->network = make_network(routers, endpoints, src, dst, bandwidth_bps, latency_ns, buffer_bytes, order,
                                  router_delay_ns, largest_packet_bytes);
        f->routing = std::make_unique<packet::Routing>(
            std::make_unique<packet::TorusRouting>(*f->network, std::move(extents), copy(place)));
        return f.release();
      },
      nb::rv_policy::take_ownership);

  using Choice = packet::RoutingChoice;
  nb::class_<Choice>(m, "RoutingChoice", "De Sensi 2019, algorithm 1; select() answers with a DragonflyMode's number.")
      .def(
          "__init__",
          [](Choice* self, double latency_factor, double stall_factor, std::uint32_t oldest,
             std::uint64_t threshold_bytes) {
            new (self) Choice(packet::RoutingChoiceOptions{latency_factor, stall_factor, oldest, threshold_bytes});
          },
          "latency_factor"_a = 0.8, "stall_factor"_a = 1.5, "oldest"_a = 16, "threshold_bytes"_a = 4096)
      .def(
          "select",
          [](Choice& c, std::uint64_t bytes, bool all_to_all) {
            return static_cast<int>(packet::mode_of(c.select(bytes, all_to_all)));
          },
          "bytes"_a, "all_to_all"_a = false)
      .def_prop_ro("decided", &Choice::decided)
      .def("observe", &Choice::observe, "latency_cycles"_a, "stalls_per_flit"_a)
      .def_static(
          "time_cycles",
          [](std::uint64_t bytes, double latency_cycles, double stalls_per_flit, bool get) {
            return Choice::time_cycles(bytes, latency_cycles, stalls_per_flit,
                                       get ? Choice::Transfer::kGet : Choice::Transfer::kPut);
          },
          "bytes"_a, "latency_cycles"_a, "stalls_per_flit"_a, "get"_a = false);
}
