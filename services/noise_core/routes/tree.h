// A fat tree of two or three levels for static routes: leaves, the spines of each pod, and cores in groups. Every spine
// of a group has one link to each core of the group. Links have consecutive numbers, level by level.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace flitwatch::routes {

struct TreeShape {
  int pods;    // of leaves and spines
  int leaves;  // per pod
  int hosts;   // per leaf
  int spines;  // per pod
  int groups;  // of cores; 0: two levels, with one pod
  int cores;   // per group
};

class Tree {
 public:
  // Throws std::invalid_argument for an impossible shape.
  explicit Tree(const TreeShape& shape) : s_(shape) {
    const bool positive = s_.pods > 0 && s_.leaves > 0 && s_.hosts > 0 && s_.spines > 0;
    if (!positive || s_.groups < 0 || s_.cores < 0) throw std::invalid_argument("a tree's sizes must be above zero");
    if (s_.groups == 0 && (s_.pods != 1 || s_.cores != 0))
      throw std::invalid_argument("several pods need cores to connect them");
    if (s_.groups > 0 && (s_.cores == 0 || s_.spines % s_.groups != 0))
      throw std::invalid_argument("every core group must have cores and the same number of spines of each pod");
    per_group_ = s_.groups ? s_.spines / s_.groups : 0;
    up_spine_ = leaves() * s_.spines;
    down_spine_ = up_spine_ + spines() * s_.cores;
    down_leaf_ = down_spine_ + cores() * s_.pods * per_group_;
    links_ = down_leaf_ + spines() * s_.leaves;
  }

  const TreeShape& shape() const { return s_; }
  int leaves() const { return s_.pods * s_.leaves; }
  int spines() const { return s_.pods * s_.spines; }
  int cores() const { return s_.groups * s_.cores; }
  int endpoints() const { return leaves() * s_.hosts; }
  int spines_per_group() const { return per_group_; }
  int links() const { return links_; }

  int leaf_of(int endpoint) const { return endpoint / s_.hosts; }
  int pod_of_leaf(int leaf) const { return leaf / s_.leaves; }
  int pod_of(int endpoint) const { return pod_of_leaf(leaf_of(endpoint)); }
  int group_of_spine(int s) const { return s / per_group_; }  // s within its pod

  // Directed links; s is a spine within its pod, ps = pod * spines + s, k = group * cores + c.
  int leaf_to_spine(int leaf, int s) const { return leaf * s_.spines + s; }
  int spine_to_core(int ps, int c) const { return up_spine_ + ps * s_.cores + c; }
  int core_to_spine(int k, int pod, int q) const { return down_spine_ + (k * s_.pods + pod) * per_group_ + q; }
  int spine_to_leaf(int ps, int leaf_in_pod) const { return down_leaf_ + ps * s_.leaves + leaf_in_pod; }

  enum class Level { kLeafToSpine, kSpineToCore, kCoreToSpine, kSpineToLeaf };
  Level level_of(int link) const {
    if (link < up_spine_) return Level::kLeafToSpine;
    if (link < down_spine_) return Level::kSpineToCore;
    return link < down_leaf_ ? Level::kCoreToSpine : Level::kSpineToLeaf;
  }
  // Index of a link within its level, to be divided by the level's own factors.
  int within_level(int link) const {
    switch (level_of(link)) {
      case Level::kLeafToSpine:
        return link;
      case Level::kSpineToCore:
        return link - up_spine_;
      case Level::kCoreToSpine:
        return link - down_spine_;
      case Level::kSpineToLeaf:
        return link - down_leaf_;
    }
    return 0;
  }

 private:
  TreeShape s_;
  int per_group_ = 0, up_spine_ = 0, down_spine_ = 0, down_leaf_ = 0, links_ = 0;
};

}  // namespace flitwatch::routes
