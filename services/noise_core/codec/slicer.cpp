#include "codec/slicer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace flitwatch::codec {

namespace {

constexpr char kAvroMagic = 0;
constexpr std::size_t kAvroPrefix = 5;
constexpr std::int64_t kNodesARouter = 4;
constexpr std::string_view kAriesMetric = "\"AR_";

std::uint64_t spread(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// FNV-1a: every build of every writer must come to the same number.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

std::uint64_t of_component(std::int64_t component) {
  return static_cast<std::uint64_t>(component >= 0 ? component / kNodesARouter : component);
}

// What stands after `"name":`, to the end of the scalar and without its quotes; nothing where the record has no such
// member.
std::optional<std::string_view> member(std::string_view record, std::string_view name) {
  for (std::size_t at = 0; (at = record.find(name, at)) != std::string_view::npos; at += name.size()) {
    std::size_t p = at + name.size();
    if (at == 0 || record[at - 1] != '"' || p >= record.size() || record[p] != '"') continue;
    const auto blank = [&] {
      return p < record.size() && (record[p] == ' ' || record[p] == '\t' || record[p] == '\n' || record[p] == '\r');
    };
    for (++p; blank();) ++p;
    if (p >= record.size() || record[p] != ':') continue;
    for (++p; blank();) ++p;
    if (p < record.size() && record[p] == '"') {
      const std::size_t end = record.find('"', p + 1);
      if (end == std::string_view::npos) return std::nullopt;
      return record.substr(p + 1, end - p - 1);
    }
    const std::size_t end = std::min(record.find_first_of(",} \t\r\n", p), record.size());
    return record.substr(p, end - p);
  }
  return std::nullopt;
}

std::uint64_t device_of_json(std::string_view record) {
  std::int64_t component = 0;
  bool has_component = false;
  if (const auto text = member(record, Slicer::kComponent)) {
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), component);
    has_component = problem == std::errc{} && end == text->data() + text->size();
  }
  if (has_component && (component != 0 || record.find(kAriesMetric) != std::string_view::npos))
    return of_component(component);
  for (const std::string_view name : Slicer::kNames)
    if (const auto text = member(record, name); text && !text->empty()) return digest_of(*text);
  return 0;
}

}  // namespace

void Slicer::add_avro(std::uint32_t schema_id, std::vector<AvroField> fields, std::int32_t component,
                      std::vector<std::int32_t> names, bool aries) {
  std::int32_t last = component;
  for (const std::int32_t name : names) last = std::max(last, name);
  if (last >= static_cast<std::int32_t>(fields.size()))
    throw std::invalid_argument("a field that names a device is not there");
  fields.resize(static_cast<std::size_t>(last + 1));
  heads_[schema_id] = {std::move(fields), component, std::move(names), aries};
}

void Slicer::slices(std::span<const std::string_view> records, std::uint32_t count, std::int32_t* out) const {
  std::vector<AvroScalar> scalars;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string_view record = records[i];
    std::uint64_t device = 0;
    if (record.empty() || record[0] != kAvroMagic) {
      device = device_of_json(record);
    } else if (record.size() >= kAvroPrefix) {
      std::uint32_t id = 0;
      for (std::size_t byte = 1; byte < kAvroPrefix; ++byte) id = id << 8 | static_cast<unsigned char>(record[byte]);
      const auto found = heads_.find(id);
      if (found == heads_.end()) {
        out[i] = kUnknown;
        continue;
      }
      const Head& head = found->second;
      // What cannot be read ends in the dead letters of whoever has the first slice.
      if (!read_scalars(head.fields, record.substr(kAvroPrefix), scalars)) {
        const AvroScalar* const component =
            head.component < 0 ? nullptr : &scalars[static_cast<std::size_t>(head.component)];
        if (component != nullptr && component->known && (component->integer != 0 || head.aries)) {
          device = of_component(static_cast<std::int64_t>(component->integer));
        } else {
          for (const std::int32_t name : head.names) {
            const AvroScalar& scalar = scalars[static_cast<std::size_t>(name)];
            if (!scalar.known || (scalar.text.empty() && scalar.integer == 0)) continue;
            device = scalar.text.empty() ? spread(scalar.integer) : digest_of(scalar.text);
            break;
          }
        }
      }
    }
    out[i] = static_cast<std::int32_t>(spread(device) % count);
  }
}

}  // namespace flitwatch::codec
