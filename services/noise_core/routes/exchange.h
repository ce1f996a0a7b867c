// Flows between vertices, each with a port at either end: ports are exchanged until no port of a vertex carries more
// than a limit.
//
// Where each port has to take the same few flows, a flow that changes its port alone only moves the overload; flows
// that change places do not. Moves are therefore exchanges: of two flows at one end, of two parallel flows, and of four
// flows in a circle, which leave every port its number of flows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "routes/random.h"

namespace flitwatch::routes {

struct Flow {
  int from, to;  // vertices; from < 0: a flow whose class is settled, and that looks for a port at its end alone
  int dest;
  float bytes;
  bool rigid;   // the same port at both ends, not only the same class; with from < 0 it stays where it is
  int out, in;  // ports, at `from` and at `to`
};

struct Ports {
  int number;     // of each vertex
  int per_class;  // ports of a class: the port at the end is of the class of the port at the start
  bool merging;   // flows to one destination may take the same port only if they also go to the same vertex
};

class Exchange {
 public:
  Exchange(std::vector<Flow>& flows, int starts, int ends, int dests, const Ports& ports, Random& random);

  // Lowers the sum of squares of what is above `limit` until nothing is, nothing was gained for long, or `go_on`, asked
  // now and then, says no. Leaves the smallest largest load that it met.
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
  std::vector<int> holder_, holders_;   // by port and destination: the `to` of what takes it, and how many
  std::vector<std::uint32_t> resting_;  // until which move a flow stays
  std::uint32_t moves_ = 0;
  std::vector<int> some_out_, some_in_;
  Move best_;
};

}  // namespace flitwatch::routes
