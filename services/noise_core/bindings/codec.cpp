#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>

#include "bindings/arrays.h"
#include "codec/feed.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::bindings;
using namespace flitwatch::codec;

namespace {

template <class T>
using Table = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
Table<T> give_table(std::vector<T> values, std::size_t rows, std::size_t columns) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Table<T>(owned->data(), {rows, columns}, owner);
}

std::string_view view_of(nb::handle bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

// Reason of a field, as (name, kind, role, counter, length).
using FieldTuple = std::tuple<std::string, int, int, bool, std::uint32_t>;
// wire, null branch (-1 none), value branch, list, zero is unknown, microseconds a unit
using AvroTuple = std::tuple<int, int, int, bool, bool, std::int32_t>;

std::vector<Field> fields_of(const std::vector<FieldTuple>& tuples) {
  std::vector<Field> fields;
  for (const auto& [name, kind, role, counter, length] : tuples)
    fields.push_back({name, static_cast<Kind>(kind), static_cast<Role>(role), counter, length, 0});
  return fields;
}

std::vector<AvroField> avro_of(const std::vector<AvroTuple>& tuples) {
  std::vector<AvroField> fields;
  for (const auto& [wire, null_branch, value_branch, list, zero_is_unknown, unit_us] : tuples)
    fields.push_back({static_cast<Wire>(wire), static_cast<std::int8_t>(null_branch),
                      static_cast<std::int8_t>(value_branch), list, zero_is_unknown, unit_us});
  return fields;
}

// Columns of a cell: port, array, three router columns, class part, place, endpoint column, scale, tiles, lane, lane
// array, port scale, nanoseconds of stall.
constexpr std::size_t kCellColumns = 15;

Chart chart_of(nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> cells,
               In<std::int32_t> cell_of, In<std::uint32_t> claim_of) {
  if (cells.shape(1) != kCellColumns) throw std::invalid_argument("a cell has fifteen columns");
  Chart chart{{}, copy(cell_of), copy(claim_of)};
  for (std::size_t i = 0; i < cells.shape(0); ++i) {
    const std::int32_t* c = cells.data() + i * kCellColumns;
    Cell cell;
    cell.port = static_cast<std::int16_t>(c[0]);
    cell.array = static_cast<std::int8_t>(c[1]);
    for (std::size_t k = 0; k < 3; ++k) {
      if (c[2 + k] >= kRouterColumns) throw std::invalid_argument("a cell refers to a nonexistent router column");
      cell.columns[k] = static_cast<std::int8_t>(c[2 + k]);
    }
    if (c[1] >= kPortArrays || c[5] > 1 || c[6] >= kEndpointPlaces || c[7] >= kEndpointColumns ||
        (c[6] >= 0 && c[7] < 0) || ((c[1] >= 0 || c[5] >= 0) && c[0] < 0 && c[0] != kOwnPort) || c[10] >= kLanes ||
        c[11] >= kLaneArrays || (c[10] >= 0) != (c[11] >= 0) || c[12] < 1 || c[13] < 0 || c[14] < 0 || c[14] > 63 ||
        (c[13] > 0 && c[0] == -1 && c[2] >= 0))
      throw std::invalid_argument("a cell contradicts itself");
    cell.class_part = static_cast<std::int8_t>(c[5]);
    cell.place = static_cast<std::int8_t>(c[6]);
    cell.endpoint_column = static_cast<std::int8_t>(c[7]);
    cell.scale = c[8];
    cell.tiles = static_cast<std::int16_t>(c[9]);
    cell.lane = static_cast<std::int8_t>(c[10]);
    cell.lane_array = static_cast<std::int8_t>(c[11]);
    cell.port_scale = c[12];
    cell.stall_ns = c[13];
    if (c[14] > 0) cell.ceiling = (std::uint64_t{1} << c[14]) - 1;
    chart.cells.push_back(cell);
  }
  return chart;
}

Target target_of(Ledger& ledger, const Chart& chart, std::int32_t fabric, std::int32_t router, std::int32_t port,
                 const std::vector<std::int32_t>& endpoints) {
  Target target;
  if (fabric < 0) return target;
  const auto found = ledger.fabrics.find(fabric);
  if (found == ledger.fabrics.end()) throw std::invalid_argument("this fabric is not wired");
  Wiring& wiring = *found->second;
  if (router >= wiring.routers || endpoints.size() != kEndpointPlaces)
    throw std::invalid_argument("an instance's place does not exist");
  for (std::size_t i = 0; i < kEndpointPlaces; ++i) {
    if (endpoints[i] >= wiring.endpoints) throw std::invalid_argument("an instance's endpoint does not exist");
    target.endpoints[i] = endpoints[i];
  }
  target.port = router >= 0 ? port : -1;
  const auto there = [&](int at) { return at >= 0 && at < wiring.ports; };
  if (router >= 0)
    for (const Cell& cell : chart.cells)
      if (((cell.array >= 0 || cell.class_part >= 0) && !there(target.port_of(cell))) ||
          (cell.lane >= 0 && !there(target.port)))
        throw std::invalid_argument("a counter refers to a port that does not exist on the fabric");
  target.wiring = &wiring;
  target.router = router;
  return target;
}

// Sums as arrays: fabric, device, bucket, samples, seconds, values (NaN unknown); rows in which nothing stands are left
// out.
nb::tuple give_rows(RowSums& sums, std::int64_t through_s) {
  std::vector<std::int32_t> fabric, device, samples;
  std::vector<std::int64_t> bucket;
  std::vector<double> seconds, values;
  const std::size_t columns = sums.columns();
  for (std::size_t r = 0; r < sums.size(); ++r) {
    const Key& key = sums.keys()[r];
    if (key.bucket_s > through_s) continue;
    const std::int64_t* row = sums.values(r);
    const std::uint8_t* known = sums.known(r);
    bool something = sums.samples(r) != 0 || sums.time_us(r) != 0;
    for (std::size_t c = 0; c < columns && !something; ++c) something = row[c] != 0;
    if (!something) continue;
    fabric.push_back(key.fabric);
    device.push_back(key.device);
    bucket.push_back(key.bucket_s);
    samples.push_back(sums.samples(r));
    seconds.push_back(static_cast<double>(sums.time_us(r)) / 1e6);
    for (std::size_t c = 0; c < columns; ++c)
      values.push_back(known[c] ? static_cast<double>(row[c]) : std::numeric_limits<double>::quiet_NaN());
  }
  const std::size_t rows = fabric.size();
  return nb::make_tuple(give(std::move(fabric)), give(std::move(device)), give(std::move(bucket)),
                        give(std::move(samples)), give(std::move(seconds)),
                        give_table(std::move(values), rows, columns));
}

nb::tuple take_through(RowSums& sums, std::int64_t through_s) {
  nb::tuple rows = give_rows(sums, through_s);
  sums.drop_through(through_s);
  return rows;
}

nb::tuple consume(Feed& feed, nb::list records, In<std::int32_t> partitions, In<std::int64_t> offsets,
                  In<std::uint32_t> chosen, bool replaying) {
  std::vector<std::string_view> views;
  views.reserve(records.size());
  for (nb::handle record : records) views.push_back(view_of(record));
  if (partitions.shape(0) != views.size() || offsets.shape(0) != views.size())
    throw std::invalid_argument("one partition and one offset per record are required");
  for (std::size_t i = 0; i < chosen.shape(0); ++i)
    if (chosen.data()[i] >= views.size()) throw std::invalid_argument("a chosen record does not exist");
  Consumed out;
  {
    nb::gil_scoped_release release;
    out = feed.consume({views, view(partitions), view(offsets), view(chosen)}, replaying);
  }
  nb::list accepted, pending, strangers, refused;
  for (const std::uint64_t count : out.accepted) accepted.append(count);
  for (const Pending& p : out.pending) pending.append(nb::make_tuple(p.record, static_cast<int>(p.need), p.number));
  for (const Stranger& s : out.strangers)
    strangers.append(nb::make_tuple(s.plan, s.has_component ? nb::object(nb::int_(s.component)) : nb::none(),
                                    nb::bytes(s.identity.data(), s.identity.size()), s.hint));
  for (const Refused& r : out.refused)
    refused.append(
        nb::make_tuple(r.record, r.plan, static_cast<int>(r.fault.code), r.fault.field, r.fault.at, r.time_us));
  return nb::make_tuple(out.first, accepted, out.repeats, out.held, out.values, out.newest_us, pending, strangers,
                        refused);
}

nb::list take_letters(Feed& feed) {
  nb::list letters;
  for (const Letter& l : feed.engine().letters)
    letters.append(nb::make_tuple(l.partition, l.offset, static_cast<int>(l.code), l.time_us,
                                  nb::bytes(l.record.data(), l.record.size())));
  feed.engine().letters.clear();
  return letters;
}

nb::tuple take_gaps(Feed& feed) {
  std::vector<std::uint32_t> instance;
  std::vector<std::uint8_t> reason, put;
  std::vector<std::int64_t> from, to;
  std::vector<double> counts;
  for (const GapNote& gap : feed.engine().gaps) {
    instance.push_back(gap.instance);
    reason.push_back(static_cast<std::uint8_t>(gap.reason));
    put.push_back(gap.put);
    from.push_back(gap.from_us);
    to.push_back(gap.to_us);
    for (std::size_t c = 0; c < kRouterColumns; ++c)
      counts.push_back(gap.known >> c & 1 ? static_cast<double>(gap.counts[c])
                                          : std::numeric_limits<double>::quiet_NaN());
  }
  const std::size_t rows = feed.engine().gaps.size();
  feed.engine().gaps.clear();
  return nb::make_tuple(give(std::move(instance)), give(std::move(reason)), give(std::move(put)), give(std::move(from)),
                        give(std::move(to)), give_table(std::move(counts), rows, kRouterColumns));
}

nb::tuple take_observations(Feed& feed, std::uint32_t plan) {
  if (plan >= feed.plans()) throw std::invalid_argument("no such plan");
  Observations kept = std::move(feed.observations(plan));
  feed.observations(plan) = {};
  const Plan& layout = feed.plan(plan);
  const std::size_t rows = kept.time_us.size();
  nb::list identity, texts;
  for (const std::string& text : kept.identity) identity.append(nb::bytes(text.data(), text.size()));
  for (const std::string& text : kept.texts) texts.append(nb::str(text.data(), text.size()));
  return nb::make_tuple(give(std::move(kept.component)), give(std::move(kept.has_component)), identity,
                        give(std::move(kept.time_us)), give_table(std::move(kept.integers), rows, layout.integers()),
                        give_table(std::move(kept.unknown), rows, layout.integers()),
                        give_table(std::move(kept.reals), rows, layout.reals()), texts);
}

std::tuple<int, int, std::uint32_t, std::vector<std::uint32_t>> lists_of(const std::vector<AvroTuple>& wires,
                                                                         nb::bytes record) {
  std::vector<std::uint32_t> lengths;
  const std::string_view bytes = view_of(record);
  const Fault fault = measure_lists(avro_of(wires), bytes.substr(std::min<std::size_t>(5, bytes.size())), lengths);
  return {static_cast<int>(fault.code), fault.field, fault.at + 5, std::move(lengths)};
}

}  // namespace

NB_MODULE(_codec, m) {
  // A feed lives as long as its process; that it is still there at the end is no leak to tell the operator of.
  nb::set_leak_warnings(false);
  m.doc() =
      "LDMS records into columns, and cumulative counters into additive rows. `flitwatch_core.codec` names the codes.";
  m.attr("CLASS_COLUMNS") = kClassColumns;
  m.attr("OWN_PORT") = kOwnPort;
  m.attr("LANES") = kLanes;
  m.attr("LANE_ARRAYS") = kLaneArrays;
  m.attr("ROUTER_COLUMNS") = kRouterColumns;
  m.attr("ENDPOINT_COLUMNS") = kEndpointColumns;
  m.def("measure_lists", &lists_of, "wires"_a, "record"_a,
        "Elements of an Avro record's lists: (code, field, byte, lengths[fields]).");

  nb::class_<Ledger>(m, "Ledger", "Sums of a batch, shared by all feeds.")
      .def(nb::init<>())
      .def(
          "wire",
          [](Ledger& l, std::int32_t fabric,
             nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> link_class,
             std::int32_t endpoints,
             std::optional<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>> port_rates,
             std::optional<In<double>> endpoint_rates) {
            std::vector<double> of_ports;
            if (port_rates) {
              if (port_rates->shape(0) != link_class.shape(0) || port_rates->shape(1) != link_class.shape(1))
                throw std::invalid_argument("one rate per router and port is required");
              of_ports.assign(port_rates->data(), port_rates->data() + port_rates->size());
            }
            const auto routers = static_cast<std::int32_t>(link_class.shape(0)),
                       ports = static_cast<std::int32_t>(link_class.shape(1));
            l.wire(fabric, routers, ports, endpoints, {link_class.data(), link_class.data() + link_class.size()},
                   std::move(of_ports), endpoint_rates ? copy(*endpoint_rates) : std::vector<double>{});
          },
          "fabric"_a, "link_class"_a, "endpoints"_a, "port_rates"_a = nb::none(), "endpoint_rates"_a = nb::none(),
          "Make a fabric known: uint8[routers, ports], 0 or 1 + the class (green, black, blue); and the counts of data "
          "that float64[routers, ports] and float64[endpoints] send in a nanosecond, NaN: unknown.")
      .def(
          "take_routers",
          [](Ledger& l) {
            auto rows = give_rows(l.routers, std::numeric_limits<std::int64_t>::max());
            l.routers.clear();
            return rows;
          },
          nb::sig("def take_routers(self) -> tuple"))
      .def(
          "take_endpoints",
          [](Ledger& l) {
            auto rows = give_rows(l.endpoints, std::numeric_limits<std::int64_t>::max());
            l.endpoints.clear();
            return rows;
          },
          nb::sig("def take_endpoints(self) -> tuple"))
      .def(
          "take_ports",
          [](Ledger& l, std::int32_t fabric, std::int64_t through_s) {
            return take_through(l.fabrics.at(fabric)->port_sums, through_s);
          },
          "fabric"_a, "through_s"_a, nb::sig("def take_ports(self, fabric: int, through_s: int) -> tuple"),
          "Rows of the ten-second buckets up to `through_s`: values are flits, stall cycles and packets of all ports "
          "side by side.")
      .def(
          "take_port_lanes",
          [](Ledger& l, std::int32_t fabric, std::int64_t through_s) {
            return take_through(l.fabrics.at(fabric)->port_lanes, through_s);
          },
          "fabric"_a, "through_s"_a, nb::sig("def take_port_lanes(self, fabric: int, through_s: int) -> tuple"),
          "As `take_ports`: values are the lanes' arrays side by side, each by port and lane.")
      .def(
          "take_endpoint_lanes",
          [](Ledger& l, std::int32_t fabric, std::int64_t through_s) {
            return take_through(l.fabrics.at(fabric)->endpoint_lanes, through_s);
          },
          "fabric"_a, "through_s"_a, nb::sig("def take_endpoint_lanes(self, fabric: int, through_s: int) -> tuple"),
          "The same of endpoints, by lane.")
      .def("newest_port_bucket",
           [](const Ledger& l) {
             std::int64_t newest = -1;
             for (const auto& [id, wiring] : l.fabrics)
               for (const RowSums* sums : {&wiring->port_sums, &wiring->port_lanes, &wiring->endpoint_lanes})
                 for (const Key& key : sums->keys()) newest = std::max(newest, key.bucket_s);
             return newest;
           })
      .def_rw("ports_closed_s", &Ledger::ports_closed_s)
      .def_prop_ro("rows", [](const Ledger& l) { return l.routers.size() + l.endpoints.size(); });

  nb::class_<Feed>(m, "Feed", "The records of one topic. Not for use from several threads at once.")
      .def(
          "__init__",
          [](Feed* self, Ledger& ledger, double least_gap_s, int usual_intervals, double first_gap_s, double stopped_s,
             double parked_s) {
            const auto us = [](double s) { return static_cast<std::int64_t>(s * 1e6); };
            new (self) Feed(ledger, {us(least_gap_s), usual_intervals, us(first_gap_s), us(stopped_s), us(parked_s)});
          },
          "ledger"_a, "least_gap_s"_a = 5.0, "usual_intervals"_a = 3, "first_gap_s"_a = 180.0, "stopped_s"_a = 10.0,
          "parked_s"_a = 60.0, nb::keep_alive<1, 2>())
      .def(
          "add_plan",
          [](Feed& f, const std::vector<FieldTuple>& fields,
             nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> cells,
             In<std::int32_t> cell_of, In<std::uint32_t> claim_of, std::int32_t hint,
             bool json) { return f.add_plan(fields_of(fields), chart_of(cells, cell_of, claim_of), hint, json); },
          "fields"_a, "cells"_a, "cell_of"_a, "claim_of"_a, "hint"_a = -1, "json"_a = true)
      .def(
          "add_avro",
          [](Feed& f, std::uint32_t id, std::uint32_t plan, const std::vector<AvroTuple>& wires) {
            f.add_avro(id, plan, avro_of(wires));
          },
          "schema_id"_a, "plan"_a, "wires"_a)
      .def(
          "add_instance",
          [](Feed& f, Ledger& ledger, std::uint32_t plan, std::optional<std::int64_t> component, nb::bytes identity,
             std::int32_t fabric, std::int32_t router, const std::vector<std::int32_t>& endpoints, bool observed,
             std::int32_t port) {
            if (plan >= f.plans()) throw std::invalid_argument("no such plan");
            const Stranger who{plan, component.has_value(), component.value_or(0), std::string(view_of(identity)), {}};
            return f.add_instance(plan, who, target_of(ledger, f.chart(plan), fabric, router, port, endpoints),
                                  observed);
          },
          "ledger"_a, "plan"_a, "component"_a.none(), "identity"_a, "fabric"_a, "router"_a, "endpoints"_a, "observed"_a,
          "port"_a = -1)
      .def(
          "retarget",
          [](Feed& f, Ledger& ledger, std::uint32_t instance, std::int32_t fabric, std::int32_t router,
             const std::vector<std::int32_t>& endpoints, bool observed, std::int32_t port) {
            if (instance >= f.engine().size()) throw std::invalid_argument("no such instance");
            f.retarget(instance, target_of(ledger, f.engine().chart_of(instance), fabric, router, port, endpoints),
                       observed);
          },
          "ledger"_a, "instance"_a, "fabric"_a, "router"_a, "endpoints"_a, "observed"_a, "port"_a = -1)
      .def("consume", &consume, "records"_a, "partitions"_a, "offsets"_a, "chosen"_a, "replaying"_a = false,
           nb::sig("def consume(self, records: list[bytes], partitions: object, offsets: object, chosen: object, "
                   "replaying: bool = False) -> tuple"))
      .def(
          "fault_of",
          [](Feed& f, std::uint32_t plan, nb::bytes record) {
            if (plan >= f.plans()) throw std::invalid_argument("no such plan");
            const Fault fault = f.fault_of(plan, view_of(record));
            return std::tuple{static_cast<int>(fault.code), fault.field, fault.at};
          },
          "plan"_a, "record"_a, "Why a plan does not fit a record: code, field, byte.")
      .def(
          "replay", [](Feed& f, bool on, std::int64_t closed_s) { f.engine().replay(on, closed_s); }, "on"_a,
          "closed_s"_a = -1)
      .def("take_letters", &take_letters)
      .def("take_gaps", &take_gaps, nb::sig("def take_gaps(self) -> tuple"))
      .def("take_observations", &take_observations, "plan"_a,
           nb::sig("def take_observations(self, plan: int) -> tuple"))
      .def(
          "clock_us", [](const Feed& f, double fraction) { return f.engine().clock_us(fraction); }, "fraction"_a = 0.5)
      .def_rw("latest_us", &Feed::latest_us)
      .def(
          "check_silence", [](Feed& f, std::int64_t now_us) { f.engine().check_silence(now_us); }, "now_us"_a)
      .def("give_up_held", [](Feed& f) { f.engine().give_up_held(); })
      .def(
          "replay_from",
          [](const Feed& f, std::int32_t partition, std::int64_t position) {
            return f.engine().replay_from(partition, position);
          },
          "partition"_a, "position"_a)
      .def(
          "ports_closed", [](Feed& f, std::int64_t through_s) { f.engine().ports_closed(through_s); }, "through_s"_a)
      .def_prop_ro("instances", [](const Feed& f) { return f.engine().size(); })
      .def_prop_ro("silent", [](const Feed& f) { return f.engine().silent(); });
}
