// The microbenchmark of Hoefler, Schneider and Lumsdaine 2009, section 2: the world is split at random into an
// application and a perturbation; the application times a small collective while the perturbation exchanges large
// messages along a random permutation, and again without it. One JSON object a measurement on standard output.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace flitwatch::bench {

// A common clock of all processes, so that an operation can start everywhere at an announced time (window-based
// synchronisation: Hoefler, Schneider and Lumsdaine, IPDPS 2008).
class CommonClock {
 public:
  // Measures each rank's offset to rank 0 using the fastest of many round trips. Collective over `comm`.
  explicit CommonClock(MPI_Comm comm);
  double now() const { return MPI_Wtime() + offset_; }  // rank 0's time, in seconds
  // Waits for the announced time. Returns false if it has already passed, which makes the measurement invalid.
  bool wait_until(double start) const;
  double round_trip_s() const { return round_trip_; }

 private:
  double offset_ = 0, round_trip_ = 0;
};

CommonClock::CommonClock(MPI_Comm comm) {
  constexpr int kRoundTrips = 100, kTag = 1;
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int peer = 1; peer < size; ++peer) {
    double remote = 0;
    if (rank == 0) {
      for (int i = 0; i < kRoundTrips; ++i) {
        MPI_Recv(&remote, 1, MPI_DOUBLE, peer, kTag, comm, MPI_STATUS_IGNORE);
        const double mine = MPI_Wtime();
        MPI_Send(&mine, 1, MPI_DOUBLE, peer, kTag, comm);
      }
    } else if (rank == peer) {
      round_trip_ = std::numeric_limits<double>::max();
      for (int i = 0; i < kRoundTrips; ++i) {
        const double before = MPI_Wtime();
        MPI_Send(&before, 1, MPI_DOUBLE, 0, kTag, comm);
        MPI_Recv(&remote, 1, MPI_DOUBLE, 0, kTag, comm, MPI_STATUS_IGNORE);
        const double after = MPI_Wtime();
        if (after - before < round_trip_) {
          round_trip_ = after - before;
          offset_ = remote - (before + after) / 2;
        }
      }
    }
    MPI_Barrier(comm);
  }
}

bool CommonClock::wait_until(double start) const {
  if (now() > start) return false;
  while (now() < start) {
  }
  return true;
}

struct Options {
  std::vector<double> ratios{0.25, 0.5, 0.75};  // number of perturbing processes divided by all processes
  int splits = 16;                              // random splits of the world per ratio
  int repetitions = 8;                          // timed operations per split, perturbed and quiet
  std::string collective = "allreduce";         // allreduce, reduce, bcast or barrier
  std::size_t collective_bytes = 8;
  std::size_t perturbation_bytes = 10u << 20;
  std::uint64_t seed = 1;
  double window_s = 0.05;  // from the announcement of a start to the start
  std::string network = "unnamed";
};

// Throws std::invalid_argument with advice.
Options parse_options(int argc, char** argv);
std::string usage();

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

using namespace flitwatch::bench;

namespace {

struct World {
  int rank = 0, size = 0;
};

// Who perturbs in this split and whom; every rank draws the same.
struct Split {
  Split(const World& world, double ratio, std::uint64_t seed) {
    std::vector<int> order(world.size);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
    perturbing = static_cast<int>(ratio * world.size + 0.5);
    ranks = world.size - perturbing;
    const auto at = static_cast<int>(std::find(order.begin(), order.end(), world.rank) - order.begin());
    in_application = at < ranks;
    if (in_application || perturbing < 2) return;
    const int place = at - ranks;  // a random circle: everyone sends to the next and hears from the one before
    send_to = order[ranks + (place + 1) % perturbing];
    hear_from = order[ranks + (place + perturbing - 1) % perturbing];
  }
  int ranks = 0, perturbing = 0, send_to = MPI_PROC_NULL, hear_from = MPI_PROC_NULL;
  bool in_application = true;
};

class Collective {
 public:
  Collective(const Options& options)
      : name_(options.collective), in_(options.collective_bytes), out_(options.collective_bytes) {}
  void run(MPI_Comm comm) {
    const int n = static_cast<int>(in_.size());
    if (name_ == "allreduce")
      MPI_Allreduce(in_.data(), out_.data(), n, MPI_BYTE, MPI_BOR, comm);
    else if (name_ == "reduce")
      MPI_Reduce(in_.data(), out_.data(), n, MPI_BYTE, MPI_BOR, 0, comm);
    else if (name_ == "bcast")
      MPI_Bcast(in_.data(), n, MPI_BYTE, 0, comm);
    else
      MPI_Barrier(comm);
  }

 private:
  std::string name_;
  std::vector<char> in_, out_;
};

void exchange(const Split& split, std::vector<char>& out, std::vector<char>& in) {
  MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_BYTE, split.send_to, 7, in.data(),
               static_cast<int>(in.size()), MPI_BYTE, split.hear_from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// One operation, started everywhere at one announced time. Returns the slowest rank's time, or a negative number where
// some rank came too late for the window.
double timed(const Options& options, const CommonClock& clock, const Split& split, MPI_Comm mine,
             Collective& collective, bool perturbed, std::vector<char>& out, std::vector<char>& in) {
  double start = clock.now() + options.window_s;
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double took = 0;
  bool in_time = clock.wait_until(start);
  if (split.in_application) {
    collective.run(mine);
    took = clock.now() - start;
  } else if (perturbed) {
    exchange(split, out, in);
  }
  double report[2] = {in_time ? 0.0 : 1.0, split.in_application ? took : 0.0};
  MPI_Allreduce(MPI_IN_PLACE, report, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return report[0] > 0 ? -1.0 : report[1];
}

void measure(const Options& options, const World& world, const CommonClock& clock) {
  Collective collective(options);
  std::vector<char> out(options.perturbation_bytes), in(options.perturbation_bytes);
  for (const double ratio : options.ratios)
    for (int number = 0; number < options.splits; ++number) {
      const std::uint64_t seed = options.seed * 1'000'003 + static_cast<std::uint64_t>(number);
      const Split split(world, ratio, seed);
      if (split.ranks < 2) continue;
      MPI_Comm mine = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, split.in_application ? 0 : 1, world.rank, &mine);
      if (split.in_application)
        collective.run(mine);  // warm both communicators up
      else
        exchange(split, out, in);
      std::vector<double> perturbed, quiet;
      int late = 0;
      for (int i = 0; i < options.repetitions; ++i)
        for (const bool noisy : {true, false}) {
          const double took = timed(options, clock, split, mine, collective, noisy, out, in);
          if (took < 0)
            ++late;
          else
            (noisy ? perturbed : quiet).push_back(took);
        }
      MPI_Comm_free(&mine);
      if (world.rank != 0) continue;
      const auto list = [](const std::vector<double>& values) {
        std::string text = "[";
        for (const double value : values) {
          char number[40];
          std::snprintf(number, sizeof number, "%s%.9g", text.size() > 1 ? "," : "", value);
          text += number;
        }
        return text + "]";
      };
      std::printf(
          "{\"kind\":\"noise-bench\",\"version\":1,\"network\":\"%s\",\"world\":%d,\"ranks\":%d,\"perturbing\":%d,"
          "\"ratio\":%.6g,\"split\":%d,"
          "\"seed\":%llu,\"collective\":\"%s\",\"collective_bytes\":%zu,\"perturbation_bytes\":%zu,\"late\":%d,"
          "\"perturbed_s\":%s,\"quiet_s\":%s}\n",
          options.network.c_str(), world.size, split.ranks, split.perturbing, ratio, number,
          static_cast<unsigned long long>(options.seed), options.collective.c_str(), options.collective_bytes,
          options.perturbation_bytes, late, list(perturbed).c_str(), list(quiet).c_str());
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  int status = 0;
  if (argc == 2 && std::string(argv[1]) == "--help") {
    if (world.rank == 0) std::cout << usage() << '\n';
    MPI_Finalize();
    return 0;
  }
  try {
    const Options options = parse_options(argc, argv);
    if (world.size < 2) throw std::invalid_argument("at least two processes are needed");
    const CommonClock clock(MPI_COMM_WORLD);
    measure(options, world, clock);
  } catch (const std::exception& bad) {
    if (world.rank == 0) std::cerr << "noise_bench: " << bad.what() << '\n' << usage() << '\n';
    status = 2;
  }
  MPI_Finalize();
  return status;
}
