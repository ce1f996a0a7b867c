#include "sim/packet/torus_routing.h"

#include <algorithm>
#include <string>

namespace flitwatch::sim::packet {

namespace {

constexpr std::uint32_t kMostDimensions = 8, kMostHops = 254;  // a packet counts its routers in a byte

std::string named(std::uint32_t router) { return "router " + std::to_string(router); }

}  // namespace

TorusRouting::TorusRouting(const Network& network, std::vector<std::uint32_t> extents, std::vector<std::uint32_t> place)
    : network_(network),
      dimensions_(static_cast<std::uint32_t>(extents.size())),
      extents_(std::move(extents)),
      place_(std::move(place)) {
  if (!dimensions_ || dimensions_ > kMostDimensions)
    throw std::invalid_argument("a torus has 1 to 8 dimensions, this one " + std::to_string(dimensions_));
  if (place_.size() != std::size_t{network.routers()} * dimensions_)
    throw std::invalid_argument("a torus needs one coordinate per router and dimension");
  check_places();
  std::uint64_t hops = 1;
  for (const std::uint32_t k : extents_) hops += 2 * std::uint64_t{k / 2};
  if (hops > kMostHops)
    throw std::invalid_argument("a path through a random router has up to " + std::to_string(hops) +
                                " routers; the engine counts to " + std::to_string(kMostHops));
  find_cables();
}

void TorusRouting::check_places() const {
  std::uint64_t places = 1;
  for (const std::uint32_t k : extents_) {
    if (!k) throw std::invalid_argument("a torus has no dimension of extent 0");
    places *= k;
    if (places > network_.routers()) break;
  }
  if (places != network_.routers())
    throw std::invalid_argument("the torus has " + std::to_string(network_.routers()) +
                                " routers, and its extents another number of places");
  std::vector<bool> held(places, false);
  for (std::uint32_t r = 0; r < network_.routers(); ++r) {
    std::uint64_t number = 0;
    for (std::uint32_t d = 0; d < dimensions_; ++d) {
      const std::uint32_t x = place_[std::size_t{r} * dimensions_ + d];
      if (x >= extents_[d]) throw std::invalid_argument(named(r) + " is outside the torus");
      number = number * extents_[d] + x;
    }
    if (held[number]) throw std::invalid_argument(named(r) + " has the same place as another router");
    held[number] = true;
  }
}

void TorusRouting::find_cables() {
  cables_.assign(std::size_t{network_.routers()} * dimensions_ * 2, {0, 0});
  for (std::uint32_t r = 0; r < network_.routers(); ++r) {
    const std::uint32_t* a = &place_[std::size_t{r} * dimensions_];
    for (std::uint32_t port = 0; port < network_.degree(r); ++port) {
      const std::uint32_t peer = network_.peer(r * network_.stride() + port);
      if (peer == kNil) continue;
      const std::uint32_t* b = &place_[std::size_t{peer} * dimensions_];
      std::uint32_t differing = 0, along = 0;
      for (std::uint32_t d = 0; d < dimensions_; ++d)
        if (a[d] != b[d]) {
          ++differing;
          along = d;
        }
      const std::uint32_t k = extents_[along], up = differing ? (b[along] + k - a[along]) % k : 0;
      if (differing != 1 || (up != 1 && up != k - 1))
        throw std::invalid_argument("a cable joins " + named(r) + " and " + named(peer) +
                                    ", which are no neighbours in the torus");
      Cables& cables = cables_[(std::size_t{r} * dimensions_ + along) * 2 + (up != 1)];
      if (cables.count && cables.port + cables.count != port)
        throw std::invalid_argument("the cables from " + named(r) + " to " + named(peer) +
                                    " are not at neighbouring ports");
      if (!cables.count) cables.port = static_cast<std::uint8_t>(port);
      ++cables.count;
    }
    for (std::uint32_t d = 0; d < dimensions_; ++d)
      for (const bool down : {false, true})
        if (extents_[d] > (down ? 2u : 1u) && !cables_[(std::size_t{r} * dimensions_ + d) * 2 + down].count)
          throw std::invalid_argument(named(r) + " has no cable " + (down ? "down" : "up") + " dimension " +
                                      std::to_string(d) + ": routes in dimension order need a whole torus");
  }
}

}  // namespace flitwatch::sim::packet
