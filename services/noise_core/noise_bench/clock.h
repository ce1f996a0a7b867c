// A common clock of all processes, so that an operation can start everywhere at an announced time (window-based
// synchronisation: Hoefler, Schneider and Lumsdaine, IPDPS 2008).
#pragma once

#include <mpi.h>

namespace flitwatch::bench {

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

}  // namespace flitwatch::bench
