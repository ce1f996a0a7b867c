// Two CSV files of measured runs: 40 runs of eight weeks, six users, of whom the first adds a fifth to what runs beside them take.
export function measuredRuns() {
  const [runs, exposure] = [["run,start,time_s,nodes,groups"], ["run,user,amount"]];
  for (let run = 0; run < 40; run++) {
    const noise = Math.sin(run * 12.9898) * 43758.5453;
    const there = [0, 1, 2, 3, 4, 5].filter((user) => Math.sin(run * 7.13 + user * 3.7) > 0.1);
    const start = new Date(Date.UTC(2026, 0, 5, (run * 7) % 24) + run * 1.37 * 86_400_000).toISOString();
    const time = 300 * (1 + 0.02 * (noise - Math.floor(noise))) + (there.includes(0) ? 60 : 0);
    runs.push(`night-${run},${start},${time.toFixed(3)},${64 + (run % 2)},${1 + (run % 5)}`);
    for (const user of there) exposure.push(`night-${run},user${user},${20 + user}`);
  }
  return [`${runs.join("\n")}\n`, `${exposure.join("\n")}\n`];
}
