// Flows between vertices, each with a port at either end. Ports are exchanged until no port of a vertex carries more
// than a limit.
//
// If each port must carry the same small number of flows, moving a single flow to another port only moves the overload,
// but swapping flows does not. Moves are therefore exchanges: of two flows at one end, of two parallel flows, or of
// four flows in a cycle. They keep the number of flows of every port.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "routes/steps.h"

namespace flitwatch::routes {

struct Flow {
  int from, to;  // vertices; from < 0: the class of the flow is fixed, and only its end needs a port
  int dest;
  float bytes;
  bool rigid;   // the same port at both ends, not only the same class; with from < 0 it is not moved
  int out, in;  // ports, at `from` and at `to`
};

struct Ports {
  int number;     // per vertex
  int per_class;  // ports per class: the ports at both ends have the same class
  bool merging;   // flows to one destination can share a port only if they also go to the same vertex
};

class Exchange {
 public:
  Exchange(std::vector<Flow>& flows, int starts, int ends, int dests, const Ports& ports, Random& random);

  // Reduces the sum of squared excesses over `limit` until there is none, progress stalls, or `go_on` (called now and
  // then) returns false. Keeps the state with the smallest largest load.
  void settle(double limit, const std::function<bool()>& go_on);
  double largest() const;

 private:
  struct Place {
    int out, in;
  };
  struct Move {
    double change;
    int count = 0;
    int flow[4];
    Place to[4];
  };

  int out_cell(int vertex, int port) const { return vertex * ports_.number + port; }
  int in_cell(int vertex, int port) const { return (starts_ + vertex) * ports_.number + port; }
  int class_of(int port) const { return port / ports_.per_class; }
  double cost(int cell, double added) const;
  double out_change(int f, int port) const;
  double in_change(int f, int port) const;
  bool free_for(int f, int port) const;
  void offer(double change, std::initializer_list<std::pair<int, Place>> parts);
  void relocations(int f);
  void swaps(int f, bool out);
  void crossings(int f);
  void circles(int f);
  void sample(int vertex, bool out, int other_than, std::vector<int>& into);
  void put(int f, int sign);
  void apply(const Move& move);
  void classify(int cell);

  std::vector<Flow>& flows_;
  int starts_, ends_, dests_;
  Ports ports_;
  Random& random_;
  double limit_ = 0, total_ = 0;
  std::vector<double> load_;
  std::vector<std::vector<int>> members_;  // flows of each cell: of a vertex and one of its ports
  std::vector<int> place_out_, place_in_;  // of a flow in its cells
  std::vector<std::vector<int>> between_;  // flows of (from, to)
  std::vector<int> over_, over_place_;
  std::vector<int> holder_, holders_;   // by port and destination: `to` of the flows there, and their number
  std::vector<std::uint32_t> resting_;  // a flow is not moved before this move number
  std::uint32_t moves_ = 0;
  std::vector<int> some_out_, some_in_;
  Move best_;
};

}  // namespace flitwatch::routes
