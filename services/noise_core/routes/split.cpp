#include "routes/steps.h"

#include <algorithm>
#include <numeric>

namespace flitwatch::routes {

namespace {

// Partner of each edge at one side: at every vertex, edges in order of slot and weight are paired with their
// neighbours.
std::vector<int> partners(const std::vector<Edge>& edges, const std::vector<int>& subset, int vertices, bool left,
                          Random& random) {
  std::vector<std::vector<int>> at(vertices);
  for (int i = 0; i < static_cast<int>(subset.size()); ++i)
    at[left ? edges[subset[i]].left : edges[subset[i]].right].push_back(i);
  std::vector<int> partner(subset.size(), -1);
  for (auto& some : at) {
    for (std::size_t q = some.size(); q > 1; --q) std::swap(some[q - 1], some[random.below(static_cast<int>(q))]);
    std::stable_sort(some.begin(), some.end(), [&](int a, int b) {
      const Edge &one = edges[subset[a]], &other = edges[subset[b]];
      return one.slot != other.slot ? one.slot < other.slot : one.weight > other.weight;
    });
    for (std::size_t i = 0; i + 1 < some.size(); i += 2) {
      partner[some[i]] = some[i + 1];
      partner[some[i + 1]] = some[i];
    }
  }
  return partner;
}

// Walk the paths and even cycles that the pairs at both sides make, and colour them alternately.
void halve(const std::vector<Edge>& edges, const std::vector<int>& subset, int lefts, int rights, Random& random,
           std::vector<int>& one, std::vector<int>& two) {
  const auto by_left = partners(edges, subset, lefts, true, random),
             by_right = partners(edges, subset, rights, false, random);
  std::vector<signed char> side(subset.size(), -1);
  auto walk = [&](int begin) {
    bool left = by_left[begin] >= 0;
    signed char now = static_cast<signed char>(random.next() & 1);
    for (int i = begin; i >= 0 && side[i] < 0;) {
      side[i] = now;
      i = left ? by_left[i] : by_right[i];
      left = !left;
      now ^= 1;
    }
  };
  for (int i = 0; i < static_cast<int>(subset.size()); ++i)
    if (side[i] < 0 && (by_left[i] < 0 || by_right[i] < 0)) walk(i);
  for (int i = 0; i < static_cast<int>(subset.size()); ++i)
    if (side[i] < 0) walk(i);
  one.clear();
  two.clear();
  for (std::size_t i = 0; i < subset.size(); ++i) (side[i] ? two : one).push_back(subset[i]);
}

// A largest set of edges with at most ceil(degree / colours) at every vertex: greedy, then augmenting paths.
class ShareOf {
 public:
  ShareOf(const std::vector<Edge>& edges, const std::vector<int>& subset, int lefts, int rights, int colours)
      : edges_(edges),
        subset_(subset),
        at_left_(lefts),
        at_right_(rights),
        cap_left_(lefts, 0),
        cap_right_(rights, 0),
        has_left_(lefts, 0),
        has_right_(rights, 0),
        in_(subset.size(), 0) {
    for (int q = 0; q < static_cast<int>(subset.size()); ++q) {
      at_left_[edges[subset[q]].left].push_back(q);
      at_right_[edges[subset[q]].right].push_back(q);
    }
    for (int v = 0; v < lefts; ++v) cap_left_[v] = (static_cast<int>(at_left_[v].size()) + colours - 1) / colours;
    for (int v = 0; v < rights; ++v) cap_right_[v] = (static_cast<int>(at_right_[v].size()) + colours - 1) / colours;
  }

  void split(std::vector<int>& share, std::vector<int>& rest) {
    for (int q = 0; q < static_cast<int>(subset_.size()); ++q) {
      const int a = edges_[subset_[q]].left, b = edges_[subset_[q]].right;
      if (has_left_[a] < cap_left_[a] && has_right_[b] < cap_right_[b]) take(q);
    }
    for (int a = 0; a < static_cast<int>(at_left_.size()); ++a)
      while (has_left_[a] < cap_left_[a] && augment(a)) {
      }
    share.clear();
    rest.clear();
    for (std::size_t q = 0; q < subset_.size(); ++q) (in_[q] ? share : rest).push_back(subset_[q]);
  }

 private:
  void take(int q) {
    in_[q] = 1;
    ++has_left_[edges_[subset_[q]].left];
    ++has_right_[edges_[subset_[q]].right];
  }

  bool augment(int from) {
    std::vector<int> into_right(at_right_.size(), -1), into_left(at_left_.size(), -1), queue{from};
    std::vector<char> seen(at_left_.size(), 0);
    seen[from] = 1;
    int end = -1;
    for (std::size_t h = 0; h < queue.size() && end < 0; ++h) {
      for (int q : at_left_[queue[h]]) {
        const int b = edges_[subset_[q]].right;
        if (in_[q] || into_right[b] >= 0) continue;
        into_right[b] = q;
        if (has_right_[b] < cap_right_[b]) {
          end = b;
          break;
        }
        for (int r : at_right_[b]) {
          const int a = edges_[subset_[r]].left;
          if (!in_[r] || seen[a]) continue;
          seen[a] = 1;
          into_left[a] = r;
          queue.push_back(a);
        }
      }
    }
    if (end < 0) return false;
    ++has_right_[end];
    for (int b = end;;) {
      const int q = into_right[b], a = edges_[subset_[q]].left;
      in_[q] = 1;
      if (a == from) break;
      const int r = into_left[a];
      in_[r] = 0;
      b = edges_[subset_[r]].right;
    }
    ++has_left_[from];
    return true;
  }

  const std::vector<Edge>& edges_;
  const std::vector<int>& subset_;
  std::vector<std::vector<int>> at_left_, at_right_;
  std::vector<int> cap_left_, cap_right_, has_left_, has_right_;
  std::vector<char> in_;
};

void recurse(const std::vector<Edge>& edges, const std::vector<int>& subset, int lefts, int rights, int first,
             int colours, Random& random, std::vector<int>& result) {
  if (colours == 1) {
    for (int e : subset) result[e] = first;
    return;
  }
  std::vector<int> one, two;
  if (colours % 2 == 0) {
    halve(edges, subset, lefts, rights, random, one, two);
    recurse(edges, one, lefts, rights, first, colours / 2, random, result);
    recurse(edges, two, lefts, rights, first + colours / 2, colours / 2, random, result);
    return;
  }
  ShareOf(edges, subset, lefts, rights, colours).split(one, two);
  for (int e : one) result[e] = first;
  recurse(edges, two, lefts, rights, first + 1, colours - 1, random, result);
}

}  // namespace

std::vector<int> colour(const std::vector<Edge>& edges, int lefts, int rights, int colours, Random& random) {
  std::vector<int> all(edges.size()), result(edges.size(), 0);
  std::iota(all.begin(), all.end(), 0);
  recurse(edges, all, lefts, rights, 0, colours, random, result);
  return result;
}

}  // namespace flitwatch::routes
