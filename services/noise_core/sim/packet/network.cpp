#include "sim/packet/network.h"

#include <cmath>
#include <map>
#include <tuple>

namespace flitwatch::sim::packet {

Network::Network(const Graph& graph, const LinkParameters& links, double router_delay_ns,
                 std::uint32_t largest_packet_bytes)
    : routers_(graph.routers()),
      endpoints_(graph.endpoints()),
      router_delay_ps_(static_cast<Time>(std::llround(router_delay_ns * 1000))) {
  if (links.latency_ns.size() != graph.links() || links.buffer_bytes.size() != graph.links())
    throw std::invalid_argument("latency_ns and buffer_bytes need one entry per link");
  if (!links.order.empty() && links.order.size() != graph.links())
    throw std::invalid_argument("order needs one entry per link, or none");
  for (LinkId l = 0; l < graph.links(); ++l)
    if (graph.multiplicity(l) != 1)
      throw std::invalid_argument("link " + std::to_string(l) +
                                  " stands for several cables; give each cable its own link");
  sort_ports(graph, links);
  classify(graph, links, largest_packet_bytes);
}

void Network::sort_ports(const Graph& graph, const LinkParameters& links) {
  degree_.resize(routers_);
  for (std::uint32_t r = 0; r < routers_; ++r) {
    degree_[r] = static_cast<std::uint32_t>(graph.out_links(r).size());
    if (degree_[r] > 255) throw std::invalid_argument("router " + std::to_string(r) + " has more than 255 ports");
    stride_ = std::max(stride_, degree_[r]);
  }
  if (endpoints_ >> 24 || routers_ >> 24) throw std::invalid_argument("more than 16 million routers or endpoints");
  peer_.assign(ports(), kNil);
  link_of_port_.assign(ports(), kNone);
  port_of_link_.assign(graph.links(), kNil);
  attach_.assign(endpoints_, 0);
  for (std::uint32_t r = 0; r < routers_; ++r) {
    const auto out = graph.out_links(r);
    std::vector<LinkId> sorted(out.begin(), out.end());
    if (!links.order.empty())
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](LinkId a, LinkId b) { return links.order[a] < links.order[b]; });
    for (std::uint32_t k = 0; k < sorted.size(); ++k) {
      const PortId port = r * stride_ + k;
      link_of_port_[port] = sorted[k];
      port_of_link_[sorted[k]] = port;
      if (graph.is_router(graph.dst(sorted[k])))
        peer_[port] = graph.dst(sorted[k]);
      else
        attach_[graph.dst(sorted[k]) - routers_] = r << 8 | k;
    }
  }
  for (std::uint32_t e = 0; e < endpoints_; ++e) {
    const PortId port = injection(e);
    peer_[port] = graph.router_of(e);
    link_of_port_[port] = graph.injection_link(e);
    port_of_link_[graph.injection_link(e)] = port;
  }
}

void Network::classify(const Graph& graph, const LinkParameters& links, std::uint32_t largest_packet_bytes) {
  using Key = std::tuple<bool, double, double, std::int32_t>;  // links to endpoints come first
  std::map<Key, std::uint8_t> known;
  const auto key_of = [&](LinkId l) {
    const bool to_router = graph.is_router(graph.dst(l));
    return Key{to_router, graph.bandwidth_bps(l), links.latency_ns[l], to_router ? links.buffer_bytes[l] : 0};
  };
  for (LinkId l = 0; l < graph.links(); ++l) {
    const auto [to_router, bandwidth_bps, latency_ns, buffer] = key_of(l);
    const std::string where = "link " + std::to_string(l);
    if (!(bandwidth_bps > 0)) throw std::invalid_argument(where + ": bandwidth is unknown; the packet engine needs it");
    if (!(latency_ns >= 0) || latency_ns > 4e6)
      throw std::invalid_argument(where + ": latency_ns must be within 0 and 4 ms");
    if (to_router && buffer < static_cast<std::int64_t>(largest_packet_bytes))
      throw std::invalid_argument(where + ": a buffer of " + std::to_string(buffer) +
                                  " bytes cannot hold a packet of " + std::to_string(largest_packet_bytes));
    known.emplace(key_of(l), 0);
  }
  if (known.size() > 250) throw std::invalid_argument("more than 250 kinds of links");
  for (auto& [key, number] : known) {
    number = static_cast<std::uint8_t>(timing_.size());
    const auto& [to_router, bandwidth_bps, latency_ns, buffer] = key;
    timing_.push_back({static_cast<std::uint64_t>(std::llround(8e12 / bandwidth_bps * 65536)),
                       static_cast<std::uint32_t>(std::llround(latency_ns * 1000)), buffer});
    eject_classes_ += !to_router;
  }
  class_.assign(ports(), kUnused);
  for (LinkId l = 0; l < graph.links(); ++l) class_[port_of_link_[l]] = known.at(key_of(l));
}

}  // namespace flitwatch::sim::packet
