#include "codec/feed.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "codec/json.h"

namespace flitwatch::codec {

namespace {

constexpr char kAvroMagic = 0;
constexpr std::size_t kAvroPrefix = 5;

std::uint32_t big_endian32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace

std::uint64_t digest(const Row& row) {
  std::uint64_t hash = 0x243F6A8885A308D3u;
  for (const std::uint64_t value : row.integers) hash = mix(hash, value);
  for (const double value : row.reals) hash = mix(hash, std::bit_cast<std::uint64_t>(value));
  for (const std::string_view text : row.texts) hash = mix(hash, std::hash<std::string_view>{}(text));
  return hash;
}

std::uint32_t Feed::add_plan(std::vector<Field> fields, Chart chart, std::int32_t hint, bool json) {
  auto plan = std::make_unique<Plan>(std::move(fields));
  if (chart.cell_of.size() != plan->counters() || chart.claim_of.size() != plan->counters())
    throw std::invalid_argument("each counter needs one cell and one claim");
  for (const std::int32_t cell : chart.cell_of)
    if (cell >= static_cast<std::int32_t>(chart.cells.size()))
      throw std::invalid_argument("a counter refers to a nonexistent cell");
  if (hint >= 0 && (hint >= static_cast<std::int32_t>(plan->fields().size()) ||
                    plan->fields()[static_cast<std::size_t>(hint)].kind != Kind::kText))
    throw std::invalid_argument("the hint field is not text");
  const auto index = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back(std::make_unique<Entry>(Entry{std::move(plan), std::move(chart), hint, {}}));
  if (json) json_order_.insert(json_order_.begin(), index);
  return index;
}

void Feed::add_avro(std::uint32_t schema_id, std::uint32_t plan, std::vector<AvroField> fields) {
  avro_[schema_id].emplace_back(plan, AvroSchema(*entries_.at(plan)->plan, std::move(fields)));
}

void Feed::key_of(std::uint32_t plan, const Row& row) {
  key_.assign(reinterpret_cast<const char*>(&plan), sizeof plan);
  key_.append(reinterpret_cast<const char*>(&row.component), sizeof row.component);
  key_ += row.has_component ? '\1' : '\0';
  key_ += row.identity;
}

std::uint32_t Feed::add_instance(std::uint32_t plan, const Stranger& who, const Target& target, bool observed) {
  Row row;
  row.component = who.component;
  row.has_component = who.has_component;
  row.identity = who.identity;
  key_of(plan, row);
  const std::uint32_t counters = entries_.at(plan)->plan->counters();
  if (by_key_.contains(key_)) throw std::invalid_argument("this instance already exists");
  const std::uint32_t index =
      engine_.add_instance(std::max(1u, counters), counters > 0, &entries_[plan]->chart, who.component, target);
  by_key_.emplace(key_, index);
  places_.push_back({plan, observed});
  return index;
}

void Feed::retarget(std::uint32_t instance, const Target& target, bool observed) {
  places_.at(instance).observed = observed;
  engine_.retarget(instance, target);
}

Consumed Feed::consume(const Batch& batch, bool replaying) {
  Consumed out;
  std::map<std::string, std::uint32_t> strangers;
  for (const std::uint32_t index : batch.chosen) {
    const std::int32_t plan = decode(batch.records[index], index, out);
    if (plan >= 0) book(static_cast<std::uint32_t>(plan), index, batch, replaying, out, strangers);
  }
  revive(replaying);
  if (replaying) engine_.letters.clear();
  return out;
}

std::int32_t Feed::decode(std::string_view record, std::uint32_t index, Consumed& out) {
  if (record.empty()) {
    out.refused.push_back({index, -1, {Code::kTruncated, -1, 0}, -1});
    return -1;
  }
  return record[0] == kAvroMagic ? decode_avro(record, index, out) : decode_json(record, index, out);
}

std::int32_t Feed::decode_avro(std::string_view record, std::uint32_t index, Consumed& out) {
  if (record.size() < kAvroPrefix) {
    out.refused.push_back({index, -1, {Code::kTruncated, -1, static_cast<std::uint32_t>(record.size())}, -1});
    return -1;
  }
  const std::uint32_t id = big_endian32(record.substr(1));
  const auto found = avro_.find(id);
  if (found == avro_.end()) {
    out.pending.push_back({index, Need::kAvroSchema, id});
    return -1;
  }
  for (const auto& [plan, schema] : found->second) {
    Fault fault = schema.decode(record.substr(kAvroPrefix), row_);
    fault.at += kAvroPrefix;
    if (!fault) return static_cast<std::int32_t>(plan);
    if (!is_mismatch(fault.code)) {
      out.refused.push_back({index, static_cast<std::int32_t>(plan), fault, row_.time_us});
      return -1;
    }
  }
  out.pending.push_back({index, Need::kAvroLists, id});
  return -1;
}

std::int32_t Feed::decode_json(std::string_view record, std::uint32_t index, Consumed& out) {
  for (std::size_t i = 0; i < json_order_.size(); ++i) {
    const std::uint32_t plan = json_order_[i];
    const Fault found = codec::decode_json(*entries_[plan]->plan, record, row_);
    if (!found) {
      if (i > 0)
        std::rotate(json_order_.begin(), json_order_.begin() + static_cast<std::ptrdiff_t>(i),
                    json_order_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return static_cast<std::int32_t>(plan);
    }
    if (!is_mismatch(found.code)) {
      out.refused.push_back({index, static_cast<std::int32_t>(plan), found, row_.time_us});
      return -1;
    }
  }
  out.pending.push_back({index, Need::kPlan, 0});
  return -1;
}

Fault Feed::fault_of(std::uint32_t plan, std::string_view record) {
  if (record.empty() || record[0] != kAvroMagic) return codec::decode_json(*entries_.at(plan)->plan, record, row_);
  Fault fault{Code::kTruncated, -1, static_cast<std::uint32_t>(record.size())};
  const auto found = record.size() < kAvroPrefix ? avro_.end() : avro_.find(big_endian32(record.substr(1)));
  if (found == avro_.end()) return fault;
  for (const auto& [other, schema] : found->second) {
    if (other != plan) continue;
    fault = schema.decode(record.substr(kAvroPrefix), row_);
    fault.at += kAvroPrefix;
  }
  return fault;
}

void Feed::book(std::uint32_t plan, std::uint32_t index, const Batch& batch, bool replaying, Consumed& out,
                std::map<std::string, std::uint32_t>& strangers) {
  if (row_.time_us > latest_us) {
    out.refused.push_back({index, static_cast<std::int32_t>(plan), {Code::kFuture, -1, 0}, row_.time_us});
    return;
  }
  key_of(plan, row_);
  const auto found = by_key_.find(key_);
  if (found == by_key_.end()) {
    const auto [stranger, added] = strangers.try_emplace(key_, static_cast<std::uint32_t>(out.strangers.size()));
    if (added) {
      const Entry& entry = *entries_[plan];
      const std::string_view hint = entry.hint < 0
                                        ? std::string_view{}
                                        : row_.texts[entry.plan->fields()[static_cast<std::size_t>(entry.hint)].slot];
      out.strangers.push_back({plan, row_.has_component, row_.component, row_.identity, std::string(hint)});
    }
    out.pending.push_back({index, Need::kInstance, stranger->second});
    return;
  }
  const Plan& layout = *entries_[plan]->plan;
  const std::uint64_t whole = layout.counters() == 0 ? digest(row_) : 0;
  const std::uint64_t* values = layout.counters() == 0 ? &whole : row_.integers.data();
  const std::uint32_t instance = found->second;
  const Outcome outcome = engine_.push(
      instance, {row_.time_us, batch.offsets[index], batch.partitions[index], values, batch.records[index]});
  switch (outcome) {
    case Outcome::kRepeat:
      ++out.repeats;
      return;
    case Outcome::kHeld:
      ++out.held;
      return;
    case Outcome::kConflict:
      out.refused.push_back({index, static_cast<std::int32_t>(plan), {Code::kConflict, -1, 0}, row_.time_us});
      return;
    case Outcome::kLate:
      out.refused.push_back({index, static_cast<std::int32_t>(plan), {Code::kLate, -1, 0}, row_.time_us});
      return;
    case Outcome::kFirst:
      ++out.first;
      break;
    case Outcome::kAccepted:
      break;
  }
  if (plan >= out.accepted.size()) out.accepted.resize(plan + 1);
  ++out.accepted[plan];
  out.values += layout.counters() > 0 ? layout.counters() : layout.integers() + layout.reals() + layout.texts();
  out.newest_us = std::max(out.newest_us, row_.time_us);
  if (places_[instance].observed && !replaying) observe(plan);
}

void Feed::observe(std::uint32_t plan) {
  Observations& kept = entries_[plan]->observations;
  kept.component.push_back(row_.component);
  kept.has_component.push_back(row_.has_component);
  kept.time_us.push_back(row_.time_us);
  kept.identity.push_back(row_.identity);
  kept.integers.insert(kept.integers.end(), row_.integers.begin(), row_.integers.end());
  if (row_.unknown.empty())
    kept.unknown.resize(kept.integers.size(), 0);
  else
    kept.unknown.insert(kept.unknown.end(), row_.unknown.begin(), row_.unknown.end());
  kept.reals.insert(kept.reals.end(), row_.reals.begin(), row_.reals.end());
  for (const std::string_view text : row_.texts) kept.texts.emplace_back(text);
}

// Held samples that came in after all are kept as they came, too.
void Feed::revive(bool replaying) {
  Consumed ignored;
  for (const auto& [instance, record] : engine_.revived)
    if (places_[instance].observed && !replaying)
      if (const std::int32_t plan = decode(record, 0, ignored); plan >= 0) observe(static_cast<std::uint32_t>(plan));
  engine_.revived.clear();
}

}  // namespace flitwatch::codec
