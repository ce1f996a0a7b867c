#include "clock.h"

#include <limits>

namespace flitwatch::bench {

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

}  // namespace flitwatch::bench
