#include "routes/exchange.h"

#include <algorithm>
#include <limits>

namespace flitwatch::routes {

namespace {
constexpr int kSample = 16;       // about as many flows are looked at for an exchange
constexpr int kLookEvery = 256;   // moves between looks at the largest load
constexpr int kPatience = 1000;   // looks without a smaller one after which it ends
constexpr int kRest = 12;         // moves, at most, that a flow stays where it was put
constexpr double kUphill = 0.05;  // share of moves that are made although they cost
constexpr double kClose = 1e-9;   // of the limit: what rounding may add
}  // namespace

Exchange::Exchange(std::vector<Flow>& flows, int starts, int ends, int dests, const Ports& ports, Random& random)
    : flows_(flows),
      starts_(starts),
      ends_(ends),
      dests_(dests),
      ports_(ports),
      random_(random),
      load_(static_cast<std::size_t>(starts + ends) * ports.number, 0),
      members_(load_.size()),
      place_out_(flows.size(), 0),
      place_in_(flows.size(), 0),
      between_(static_cast<std::size_t>(starts) * ends),
      over_place_(load_.size(), -1),
      holder_(ports.merging ? static_cast<std::size_t>(ports.number) * dests : 0, -1),
      holders_(holder_.size(), 0),
      resting_(flows.size(), 0) {
  limit_ = std::numeric_limits<double>::infinity();
  for (int f = 0; f < static_cast<int>(flows_.size()); ++f) {
    put(f, 1);
    if (flows_[f].from >= 0) between_[static_cast<std::size_t>(flows_[f].from) * ends_ + flows_[f].to].push_back(f);
  }
}

double Exchange::cost(int cell, double added) const {
  const double above = load_[cell] + added - limit_;
  return above > 0 ? above * above : 0;
}

double Exchange::out_change(int f, int port) const {
  const Flow& flow = flows_[f];
  if (flow.from < 0 || port == flow.out) return 0;
  const int a = out_cell(flow.from, flow.out), b = out_cell(flow.from, port);
  return cost(a, -flow.bytes) - cost(a, 0) + cost(b, flow.bytes) - cost(b, 0);
}

double Exchange::in_change(int f, int port) const {
  const Flow& flow = flows_[f];
  if (port == flow.in) return 0;
  const int a = in_cell(flow.to, flow.in), b = in_cell(flow.to, port);
  return cost(a, -flow.bytes) - cost(a, 0) + cost(b, flow.bytes) - cost(b, 0);
}

bool Exchange::free_for(int f, int port) const {
  if (!ports_.merging || port == flows_[f].out) return true;
  const std::size_t at = static_cast<std::size_t>(port) * dests_ + flows_[f].dest;
  return holders_[at] == 0 || holder_[at] == flows_[f].to;
}

void Exchange::classify(int cell) {
  const bool over = load_[cell] > limit_ * (1 + kClose);
  int& place = over_place_[cell];
  if (over && place < 0) {
    place = static_cast<int>(over_.size());
    over_.push_back(cell);
  } else if (!over && place >= 0) {
    over_place_[over_.back()] = place;
    over_[place] = over_.back();
    over_.pop_back();
    place = -1;
  }
}

void Exchange::put(int f, int sign) {
  const Flow& flow = flows_[f];
  auto change = [&](int cell, int& place, std::vector<int>& places) {
    total_ -= cost(cell, 0);
    load_[cell] += sign * static_cast<double>(flow.bytes);
    auto& list = members_[cell];
    if (sign > 0) {
      place = static_cast<int>(list.size());
      list.push_back(f);
    } else {
      places[list.back()] = place;
      list[place] = list.back();
      list.pop_back();
      if (list.empty()) load_[cell] = 0;
    }
    total_ += cost(cell, 0);
    classify(cell);
  };
  if (flow.from >= 0) change(out_cell(flow.from, flow.out), place_out_[f], place_out_);
  change(in_cell(flow.to, flow.in), place_in_[f], place_in_);
  if (!ports_.merging) return;
  const std::size_t at = static_cast<std::size_t>(flow.out) * dests_ + flow.dest;
  holder_[at] = flow.to;
  holders_[at] += sign;
}

void Exchange::offer(double change, std::initializer_list<std::pair<int, Place>> parts) {
  if (change >= best_.change) return;
  best_.change = change;
  best_.count = 0;
  for (const auto& [flow, place] : parts) {
    best_.flow[best_.count] = flow;
    best_.to[best_.count++] = place;
  }
}

// One flow alone: the cheapest port at the start and at the end, class by class.
void Exchange::relocations(int f) {
  const Flow& flow = flows_[f];
  const int n = ports_.number, per = ports_.per_class;
  if (flow.from < 0 && flow.rigid) return;
  const int first = flow.from < 0 ? class_of(flow.out) * per : 0, last = flow.from < 0 ? first + per : n;
  for (int base = first; base < last; base += per) {
    double out = std::numeric_limits<double>::infinity(), in = out;
    Place place{-1, -1};
    for (int t = 0, p = base + random_.below(per); t < per; ++t, p = p + 1 == base + per ? base : p + 1) {
      if (!free_for(f, p)) continue;
      if (flow.rigid || per == 1) {
        if (p == flow.out) continue;
        offer(out_change(f, p) + in_change(f, p), {{f, {p, p}}});
        continue;
      }
      if (const double c = flow.from < 0 ? 0 : out_change(f, p); c < out)
        out = c, place.out = flow.from < 0 ? flow.out : p;
      if (const double c = in_change(f, p); c < in) in = c, place.in = p;
    }
    if (place.out < 0 || (place.out == flow.out && place.in == flow.in)) continue;
    offer(out + in, {{f, place}});
  }
}

// With another flow of the same vertex and class: ports change hands at that end alone. Parallel flows exchange both.
void Exchange::swaps(int f, bool out) {
  const Flow& flow = flows_[f];
  const int per = ports_.per_class, vertex = out ? flow.from : flow.to, mine = out ? flow.out : flow.in;
  if (vertex < 0 || per == 1 || flow.rigid) return;
  const int base = class_of(mine) * per, a = out ? out_cell(vertex, mine) : in_cell(vertex, mine);
  for (int p = base; p < base + per; ++p) {
    if (p == mine) continue;
    const int b = out ? out_cell(vertex, p) : in_cell(vertex, p);
    const auto& list = members_[b];
    const int size = static_cast<int>(list.size());
    for (int t = 0, at = size > kSample ? random_.below(size) : 0; t < size && t < kSample;
         ++t, at = at + 1 == size ? 0 : at + 1) {
      const int g = list[at];
      const Flow& other = flows_[g];
      if (other.rigid || resting_[g] > moves_) continue;
      const double d = other.bytes - flow.bytes;
      const double change = cost(a, d) - cost(a, 0) + cost(b, -d) - cost(b, 0);
      if (out)
        offer(change, {{f, {p, flow.in}}, {g, {mine, other.in}}});
      else
        offer(change, {{f, {flow.out, p}}, {g, {other.out, mine}}});
    }
  }
}

void Exchange::sample(int vertex, bool out, int other_than, std::vector<int>& into) {
  into.clear();
  const int n = ports_.number, per = ports_.per_class, wanted = per == 1 ? 3 * kSample : kSample;
  const int each = 1 + wanted / (n - per);
  for (int p = 0; p < n; ++p) {
    if (p / per == other_than) continue;
    const auto& list = members_[out ? out_cell(vertex, p) : in_cell(vertex, p)];
    const int size = static_cast<int>(list.size());
    for (int t = 0, at = size > each ? random_.below(size) : 0; t < size && t < each;
         ++t, at = at + 1 == size ? 0 : at + 1)
      if (resting_[list[at]] <= moves_) into.push_back(list[at]);
  }
}

// With another flow of the same start and another class: ports there change hands, at the ends each takes the cheapest
// of its new class.
void Exchange::crossings(int f) {
  const Flow& flow = flows_[f];
  const int per = ports_.per_class;
  if (flow.rigid) return;
  for (const int g : some_out_) {
    const Flow& other = flows_[g];
    if (other.rigid) continue;
    if (other.to == flow.to) {
      const int a = out_cell(flow.from, flow.out), b = out_cell(flow.from, other.out), c = in_cell(flow.to, flow.in),
                e = in_cell(flow.to, other.in);
      const double d = other.bytes - flow.bytes;
      if (!free_for(f, other.out) || !free_for(g, flow.out)) continue;
      offer(cost(a, d) - cost(a, 0) + cost(b, -d) - cost(b, 0) + cost(c, d) - cost(c, 0) + cost(e, -d) - cost(e, 0),
            {{f, {other.out, other.in}}, {g, {flow.out, flow.in}}});
      continue;
    }
    if (!free_for(f, other.out) || !free_for(g, flow.out)) continue;
    const int a = out_cell(flow.from, flow.out), b = out_cell(flow.from, other.out);
    const double d = other.bytes - flow.bytes, start = cost(a, d) - cost(a, 0) + cost(b, -d) - cost(b, 0);
    if (start >= best_.change) continue;
    auto cheapest = [&](int of, int base, int& port) {
      double least = std::numeric_limits<double>::infinity();
      for (int p = base; p < base + per; ++p)
        if (const double c = in_change(of, p); c < least) least = c, port = p;
      return least;
    };
    int mine = -1, its = -1;
    const double change =
        start + cheapest(f, class_of(other.out) * per, mine) + cheapest(g, class_of(flow.out) * per, its);
    offer(change, {{f, {other.out, mine}}, {g, {flow.out, its}}});
  }
}

// With one flow of the same start, one of the same end, both of another class, and a fourth of the first class that
// joins their other ends.
void Exchange::circles(int f) {
  const Flow& flow = flows_[f];
  auto fits = [&](int g, int out, int in) { return (!flows_[g].rigid || out == in) && free_for(g, out); };
  for (const int g : some_out_) {
    const Flow& second = flows_[g];
    if (second.to == flow.to) continue;
    const int a = out_cell(flow.from, flow.out), b = out_cell(flow.from, second.out);
    const double d = second.bytes - flow.bytes, start = cost(a, d) - cost(a, 0) + cost(b, -d) - cost(b, 0);
    if (start >= best_.change) continue;
    for (const int h : some_in_) {
      const Flow& third = flows_[h];
      if (third.from < 0 || third.from == flow.from || class_of(third.in) != class_of(second.out) ||
          !fits(f, second.out, third.in))
        continue;
      const int c = in_cell(flow.to, flow.in), e = in_cell(flow.to, third.in);
      const double d3 = third.bytes - flow.bytes, end = start + cost(c, d3) - cost(c, 0) + cost(e, -d3) - cost(e, 0);
      if (end >= best_.change) continue;
      for (const int k : between_[static_cast<std::size_t>(third.from) * ends_ + second.to]) {
        const Flow& fourth = flows_[k];
        if (class_of(fourth.out) != class_of(flow.out) || resting_[k] > moves_) continue;
        if (!fits(g, flow.out, fourth.in) || !fits(h, fourth.out, flow.in) || !fits(k, third.out, second.in)) continue;
        const int p = out_cell(third.from, third.out), q = out_cell(third.from, fourth.out);
        const int r = in_cell(second.to, second.in), s = in_cell(second.to, fourth.in);
        const double d4 = fourth.bytes - third.bytes, d2 = fourth.bytes - second.bytes;
        offer(end + cost(p, d4) - cost(p, 0) + cost(q, -d4) - cost(q, 0) + cost(r, d2) - cost(r, 0) + cost(s, -d2) -
                  cost(s, 0),
              {{f, {second.out, third.in}},
               {g, {flow.out, fourth.in}},
               {h, {fourth.out, flow.in}},
               {k, {third.out, second.in}}});
      }
    }
  }
}

void Exchange::apply(const Move& move) {
  for (int i = 0; i < move.count; ++i) put(move.flow[i], -1);
  for (int i = 0; i < move.count; ++i) {
    Flow& flow = flows_[move.flow[i]];
    flow.out = move.to[i].out;
    flow.in = move.to[i].in;
    put(move.flow[i], 1);
    resting_[move.flow[i]] = moves_ + 1 + random_.below(kRest);
  }
}

double Exchange::largest() const { return load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end()); }

void Exchange::settle(double limit, const std::function<bool()>& go_on) {
  limit_ = limit;
  total_ = 0;
  for (int cell = 0; cell < static_cast<int>(load_.size()); ++cell) {
    total_ += cost(cell, 0);
    classify(cell);
  }
  std::vector<Place> kept;
  double least = std::numeric_limits<double>::infinity(), rest = least;
  int looks = 0;
  auto keep = [&] {
    ++looks;
    const double most = largest();
    if (most > least || (most == least && total_ >= rest)) return;
    if (most < least) looks = 0;
    least = most;
    rest = total_;
    kept.clear();
    for (const Flow& flow : flows_) kept.push_back({flow.out, flow.in});
  };
  keep();
  for (std::uint32_t n = 1; !over_.empty(); ++n) {
    if (n % kLookEvery == 0) {
      keep();
      if (looks > kPatience || !go_on()) break;
    }
    ++moves_;
    const int cell = over_[random_.below(static_cast<int>(over_.size()))];
    const auto& list = members_[cell];
    const int f = list[random_.below(static_cast<int>(list.size()))];
    if (resting_[f] > moves_) continue;
    best_.change = std::numeric_limits<double>::infinity();
    best_.count = 0;
    relocations(f);
    swaps(f, true);
    swaps(f, false);
    if (flows_[f].from >= 0 && ports_.number > ports_.per_class) {
      sample(flows_[f].from, true, class_of(flows_[f].out), some_out_);
      sample(flows_[f].to, false, class_of(flows_[f].in), some_in_);
      crossings(f);
      circles(f);
    }
    if (best_.count && (best_.change <= 0 || random_.unit() < kUphill)) apply(best_);
  }
  if (over_.empty() || largest() < least || (largest() == least && total_ < rest)) return;
  for (int f = 0; f < static_cast<int>(flows_.size()); ++f) {
    if (flows_[f].out == kept[f].out && flows_[f].in == kept[f].in) continue;
    put(f, -1);
    flows_[f].out = kept[f].out;
    flows_[f].in = kept[f].in;
    put(f, 1);
  }
}

}  // namespace flitwatch::routes
