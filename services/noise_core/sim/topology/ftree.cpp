// Fat-tree routes by the rules of OpenSM's ftree engine. Switches get an index by a search from the first leaf; then,
// leaf by leaf, each endpoint's routes are laid downward along the least used way up ("main path") and, so that
// every switch knows it, along all other ways ("secondary path").
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/topology/graph.h"
#include "sim/topology/table_routing.h"

namespace flitwatch::sim {
namespace {

using Index = std::vector<std::uint16_t>;  // a switch's place: its rank, then one digit a rank

struct Cable {
  LinkId back;             // the remote switch's link to this one
  std::uint32_t load = 0;  // routes laid over it, downward for cables up and upward for cables down
};

// All cables from one switch to one neighbour.
struct Bundle {
  std::uint32_t remote;
  std::vector<Cable> cables;
  std::uint32_t load = 0;
  Cable& least_loaded() { return *std::ranges::min_element(cables, {}, &Cable::load); }
};

class Ftree {
 public:
  Ftree(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> order)
      : graph_(*graph),
        table_(graph),
        endpoints_(endpoints_by_router(*graph)),
        up_(graph->routers()),
        down_(graph->routers()) {
    rank_switches();
    find_bundles();
    check_tree();
    index_switches(order);
    for (auto* bundles : {&up_, &down_})
      for (auto& list : *bundles) sort(list);
  }

  RouteTable run() {
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t r = 0; r < graph_.routers(); ++r)
      if (rank_[r] == leaf_rank_) leaves.push_back(r);
    std::ranges::sort(leaves, {}, [&](std::uint32_t r) { return index_[r]; });
    const auto real = [&](std::uint32_t r) { return !endpoints_[r].empty(); };
    while (!real(leaves.back())) leaves.pop_back();
    leaves.erase(leaves.begin(), std::ranges::find_if(leaves, real));
    std::size_t most = 0;
    for (std::uint32_t leaf : leaves) most = std::max(most, endpoints_[leaf].size());
    for (std::uint32_t leaf : leaves) {
      auto& here = endpoints_[leaf];
      std::ranges::sort(here, {}, [&](std::uint32_t e) { return graph_.src_port(graph_.ejection_link(e)); });
      for (std::uint32_t e : here) {
        lay(leaf);
        next_[leaf] = graph_.ejection_link(e);
        for (std::uint32_t r = 0; r < graph_.routers(); ++r)
          if (next_[r] != kNone) table_.set(r, e, position_of(graph_, next_[r]));
      }
      // Places without an endpoint count as if they had one, or fuller leaves would crowd some spines.
      for (std::size_t missing = here.size(); missing < most; ++missing) lay(leaf);
    }
    return std::move(table_);
  }

 private:
  // Rank 0 are the roots; the leaves have the largest rank.
  void rank_switches() {
    const auto level = levels_of(graph_);
    leaf_rank_ = *std::ranges::max_element(level);
    if (leaf_rank_ == 0) throw std::invalid_argument("not a fat tree: every switch has endpoints");
    for (std::uint32_t l : level) rank_.push_back(leaf_rank_ - l);
  }

  void find_bundles() {
    std::map<std::pair<Vertex, std::uint16_t>, LinkId> leaving;
    for (LinkId l = 0; l < graph_.links(); ++l)
      if (graph_.joins_routers(l) && !leaving.emplace(std::pair(graph_.src(l), graph_.src_port(l)), l).second)
        throw std::invalid_argument("router " + std::to_string(graph_.src(l)) + ": two links use port " +
                                    std::to_string(graph_.src_port(l)));
    for (const auto& [place, l] : leaving) {  // by router and port
      const auto back = leaving.find({graph_.dst(l), graph_.dst_port(l)});
      if (back == leaving.end() || graph_.dst(back->second) != graph_.src(l))
        throw std::invalid_argument("link " + std::to_string(l) + " has no link back on its port");
      const std::uint32_t from = graph_.src(l), to = graph_.dst(l);
      auto& bundles = rank_[to] < rank_[from] ? up_[from] : down_[from];
      auto bundle = std::ranges::find(bundles, to, &Bundle::remote);
      if (bundle == bundles.end()) bundle = bundles.insert(bundles.end(), {to, {}});
      bundle->cables.push_back({back->second});
    }
  }

  void check_tree() const {
    std::map<std::uint32_t, std::size_t> parents;
    for (LinkId l = 0; l < graph_.links(); ++l)
      if (graph_.joins_routers(l) && rank_[graph_.src(l)] + 1 != rank_[graph_.dst(l)] &&
          rank_[graph_.dst(l)] + 1 != rank_[graph_.src(l)])
        throw std::invalid_argument("not a fat tree: link " + std::to_string(l) + " does not join neighbouring levels");
    for (std::uint32_t r = 0; r < graph_.routers(); ++r)
      if (rank_[r] != leaf_rank_ && !endpoints_[r].empty())
        throw std::invalid_argument("not a fat tree: router " + std::to_string(r) + " has endpoints above the leaves");
    for (std::uint32_t r = 0; r < graph_.routers(); ++r)
      if (parents.emplace(rank_[r], up_[r].size()).first->second != up_[r].size())
        throw std::invalid_argument(
            "not a fat tree: switches of a level have different numbers of parents; use up-down routes");
  }

  Index free_index(Index from, std::size_t digit, std::uint16_t rank) const {
    from[0] = rank;
    for (from[digit] = 0; taken_.contains(from);) ++from[digit];
    return from;
  }

  void index_switches(std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> switches(graph_.routers());
    std::iota(switches.begin(), switches.end(), 0u);
    if (!order.empty()) {
      if (order.size() != switches.size()) throw std::invalid_argument("the order needs one number per router");
      std::ranges::stable_sort(switches, {}, [&](std::uint32_t r) { return order[r]; });
    }
    const auto first = *std::ranges::find_if(switches, [&](std::uint32_t r) { return !endpoints_[r].empty(); });
    index_.assign(graph_.routers(), {});
    const auto name = [&](std::uint32_t r, Index index) { taken_.insert(index_[r] = std::move(index)); };
    Index start(leaf_rank_ + 1, 0);
    start[0] = static_cast<std::uint16_t>(rank_[first]);
    name(first, start);
    std::deque<std::uint32_t> queue{first};
    for (; !queue.empty(); queue.pop_front()) {
      const std::uint32_t at = queue.front();
      const auto rank = static_cast<std::uint16_t>(rank_[at]);
      for (const Bundle& bundle : down_[at])
        if (index_[bundle.remote].empty())
          name(bundle.remote, free_index(index_[at], rank + 1u, rank + 1)), queue.push_back(bundle.remote);
      for (const Bundle& bundle : up_[at])
        if (index_[bundle.remote].empty())
          name(bundle.remote, free_index(index_[at], rank, rank - 1)), queue.push_back(bundle.remote);
    }
    if (std::ranges::any_of(index_, &Index::empty))
      throw std::invalid_argument("not a fat tree: the switches are not all connected");
  }

  void sort(std::vector<Bundle>& bundles) const {
    std::ranges::stable_sort(bundles, [&](const Bundle& a, const Bundle& b) {
      return a.load != b.load ? a.load < b.load : index_[a.remote] < index_[b.remote];
    });
  }

  // Lays the routes to one (perhaps missing) endpoint of a leaf into next_.
  void lay(std::uint32_t leaf) {
    next_.assign(graph_.routers(), kNone);
    hops_.assign(graph_.routers(), kNone);
    hops_[leaf] = 1;
    climb(leaf, kNone, true, 1);
  }

  // From `at`, which knows the way: tells everyone below, then the switches above.
  bool climb(std::uint32_t at, std::uint32_t from, bool main, std::uint32_t hops) {
    bool reached = descend(at, from, hops);
    if (rank_[at] == 0) return reached;
    sort(up_[at]);
    auto& bundles = up_[at];
    for (std::size_t i = 0; i < bundles.size(); ++i) {
      const bool on_main = main && i == 0;
      const std::uint32_t remote = bundles[i].remote;
      const bool longer = hops_[remote] != kNone && hops + 1 >= hops_[remote];
      if (longer && !on_main) continue;
      Cable& cable = bundles[i].least_loaded();
      if (on_main) ++bundles[i].load, ++cable.load;
      if (!longer) next_[remote] = cable.back, hops_[remote] = hops + 1;
      reached |= climb(remote, at, on_main, hops + 1);
    }
    return reached;
  }

  bool descend(std::uint32_t at, std::uint32_t from, std::uint32_t hops) {
    if (rank_[at] == leaf_rank_) return !endpoints_[at].empty();
    sort(down_[at]);
    bool reached = false;
    for (Bundle& bundle : down_[at]) {
      if (bundle.remote == from || (hops_[bundle.remote] != kNone && hops + 1 >= hops_[bundle.remote])) continue;
      Cable& cable = bundle.least_loaded();
      next_[bundle.remote] = cable.back;
      hops_[bundle.remote] = hops + 1;
      if (descend(bundle.remote, kNone, hops + 1)) {
        reached = true;
        ++bundle.load;
        ++cable.load;
      }
    }
    return reached;
  }

  const Graph& graph_;
  RouteTable table_;
  std::vector<std::vector<std::uint32_t>> endpoints_;
  std::vector<std::vector<Bundle>> up_, down_;
  std::uint32_t leaf_rank_ = 0;
  std::vector<std::uint32_t> rank_;
  std::vector<Index> index_;
  std::set<Index> taken_;
  std::vector<LinkId> next_;
  std::vector<std::uint32_t> hops_;
};

}  // namespace

RouteTable ftree_routes(std::shared_ptr<const Graph> graph, std::span<const std::uint32_t> order) {
  if (graph->endpoints() < 2) throw std::invalid_argument("not a fat tree: fewer than two endpoints");
  return Ftree(std::move(graph), order).run();
}

}  // namespace flitwatch::sim
