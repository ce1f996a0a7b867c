#include "options.h"

#include <array>
#include <sstream>
#include <stdexcept>

namespace flitwatch::bench {
namespace {

template <class Number>
Number number(const std::string& flag, const std::string& text, Number least, Number most) {
  std::istringstream in(text);
  Number value{};
  if (!(in >> value) || !in.eof() || value < least || value > most)
    throw std::invalid_argument(flag + " needs a number from " + std::to_string(least) + " to " + std::to_string(most) +
                                ", not '" + text + "'");
  return value;
}

std::vector<double> ratios(const std::string& text) {
  std::vector<double> values;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) values.push_back(number<double>("--ratios", part, 0.0, 1.0));
  if (values.empty()) throw std::invalid_argument("--ratios needs numbers such as 0.25,0.5");
  return values;
}

}  // namespace

std::string usage() {
  return "noise_bench [--ratios 0.25,0.5] [--splits N] [--repetitions N] [--collective "
         "allreduce|reduce|bcast|barrier]\n"
         "            [--collective-bytes 8] [--perturbation-bytes 10485760] [--seed 1] [--window-s 0.05] [--network "
         "NAME]\n"
         "Prints one JSON object a measurement; `flitwatch import noise FILE` stores them.";
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 >= argc) throw std::invalid_argument(flag + " needs a value");
    const std::string value = argv[i + 1];
    if (flag == "--ratios")
      options.ratios = ratios(value);
    else if (flag == "--splits")
      options.splits = number(flag, value, 1, 1'000'000);
    else if (flag == "--repetitions")
      options.repetitions = number(flag, value, 1, 1'000'000);
    else if (flag == "--collective")
      options.collective = value;
    else if (flag == "--collective-bytes")
      options.collective_bytes = number<std::size_t>(flag, value, 1, std::size_t{1} << 30);
    else if (flag == "--perturbation-bytes")
      options.perturbation_bytes = number<std::size_t>(flag, value, 1, std::size_t{1} << 30);
    else if (flag == "--seed")
      options.seed = number<std::uint64_t>(flag, value, 0, ~std::uint64_t{0});
    else if (flag == "--window-s")
      options.window_s = number(flag, value, 0.0001, 60.0);
    else if (flag == "--network")
      options.network = value;
    else
      throw std::invalid_argument("unknown option " + flag);
  }
  constexpr std::array<const char*, 4> kKnown{"allreduce", "reduce", "bcast", "barrier"};
  bool known = false;
  for (const char* name : kKnown) known = known || options.collective == name;
  if (!known) throw std::invalid_argument("--collective must be allreduce, reduce, bcast or barrier");
  for (char c : options.network)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
      throw std::invalid_argument("--network takes no quotes, backslashes or control characters");
  return options;
}

}  // namespace flitwatch::bench
