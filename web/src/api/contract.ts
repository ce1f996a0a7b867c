/**
 * The compiler's proof that what the API describes (openapi.json) is what the shapes of this page accept. Types only: nothing of this
 * reaches the browser. A line that does not compile names the answer that changed.
 */
import type { GenericSchema, InferInput } from "valibot";
import type { components } from "./generated/openapi";
import type * as queries from "./queries";
import type * as alerts from "./alerts";
import type * as estimates from "./estimateShapes";
import type * as incident from "./incident";
import type * as noise from "./noise";
import type * as people from "./people";
import type * as recommendations from "./recommendations";
import type * as roots from "./roots";
import type * as shapes from "./shapes";
import type * as tasks from "./tasks";

type Answers = components["schemas"];
type Shapes = typeof shapes & typeof estimates & typeof alerts;
/** True if every answer of the API is one that the shape takes. */
type Accepts<Answer, Shape extends GenericSchema> =
  Answer extends InferInput<Shape> ? true : { refused: Answer; expected: InferInput<Shape> };

type Proof<Holds extends true> = Holds;

export type Contract = [
  Proof<Accepts<Answers["FabricList"], Shapes["fabricsShape"]>>,
  Proof<Accepts<Answers["Routers"], Shapes["routersShape"]>>,
  Proof<Accepts<Answers["Links"], Shapes["linksShape"]>>,
  Proof<Accepts<Answers["StallFigures"], Shapes["congestionShape"]>>,
  Proof<Accepts<Answers["LinkFigures"], Shapes["linkFiguresShape"]>>,
  Proof<Accepts<Answers["Overview"], Shapes["overviewShape"]>>,
  Proof<Accepts<Answers["Timeseries"], Shapes["timeseriesShape"]>>,
  Proof<Accepts<Answers["Occupancy"], Shapes["occupancyShape"]>>,
  Proof<Accepts<Answers["RouterDetail"], Shapes["routerDetailShape"]>>,
  Proof<Accepts<Answers["JobList"], Shapes["jobsShape"]>>,
  Proof<Accepts<Answers["JobDetail"], Shapes["jobDetailShape"]>>,
  Proof<Accepts<Answers["Explanation"], Shapes["explanationShape"]>>,
  Proof<Accepts<Answers["RootsOfCongestion"], (typeof roots)["rootsShape"]>>,
  Proof<Accepts<Answers["JobNetworkNoise"], (typeof noise)["networkNoiseShape"]>>,
  Proof<Accepts<Answers["NoiseComparison"], (typeof noise)["noiseComparisonShape"]>>,
  Proof<Accepts<Answers["JobCounters"], Shapes["jobPartsShape"]>>,
  Proof<Accepts<Answers["Incident"], (typeof incident)["incidentShape"]>>,
  Proof<Accepts<Answers["IncidentList"], (typeof incident)["incidentsShape"]>>,
  Proof<Accepts<Answers["IncidentDetail"], (typeof incident)["incidentDetailShape"]>>,
  Proof<Accepts<Answers["IncidentNote"], (typeof incident)["incidentNoteShape"]>>,
  Proof<Accepts<Answers["RunList"], Shapes["runsShape"]>>,
  Proof<Accepts<Answers["RunSteps"], Shapes["runStepsShape"]>>,
  Proof<Accepts<Answers["Arrivals"], (typeof queries)["arrivalsShape"]>>,
  Proof<Accepts<Answers["Status"], Shapes["ingestShape"]>>,
  Proof<Accepts<Answers["Hits"], Shapes["searchShape"]>>,
  Proof<Accepts<Answers["Session"], (typeof people)["sessionShape"]>>,
  Proof<Accepts<Answers["AccountList"], (typeof people)["accountsShape"]>>,
  Proof<Accepts<Answers["TokenList"], (typeof people)["tokensShape"]>>,
  Proof<Accepts<Answers["CreatedToken"], (typeof people)["createdTokenShape"]>>,
  Proof<Accepts<Answers["AuditList"], (typeof people)["auditListShape"]>>,
  Proof<Accepts<Answers["TaskList"], (typeof tasks)["tasksShape"]>>,
  Proof<Accepts<Answers["Applications"], Shapes["estimatesShape"]>>,
  Proof<Accepts<Answers["Blame"], Shapes["blameShape"]>>,
  Proof<Accepts<Answers["BlameDetail"], Shapes["blameDetailShape"]>>,
  Proof<Accepts<Answers["Deviation"], Shapes["deviationShape"]>>,
  Proof<Accepts<Answers["RunningJobList"], Shapes["runningJobsShape"]>>,
  Proof<Accepts<Answers["Forecast"], Shapes["forecastShape"]>>,
  Proof<Accepts<Answers["RunningList"], Shapes["runningShape"]>>,
  Proof<Accepts<Answers["SlowestRuns"], Shapes["slowestShape"]>>,
  Proof<Accepts<Answers["IngestCoverage"], Shapes["coverageShape"]>>,
  Proof<Accepts<Answers["RunForecast"], Shapes["runForecastShape"]>>,
  Proof<Accepts<Answers["Outlook"], Shapes["outlookShape"]>>,
  Proof<Accepts<Answers["RecommendationList"], (typeof recommendations)["recommendationsShape"]>>,
  Proof<Accepts<Answers["RecommendationDetail"], (typeof recommendations)["recommendationDetailShape"]>>,
  Proof<Accepts<Answers["TrafficMatrix"], (typeof recommendations)["trafficMatrixShape"]>>,
  Proof<Accepts<Answers["BeforeAfterLinks"], (typeof recommendations)["beforeAfterShape"]>>,
  Proof<Accepts<Answers["MeasuredList"], (typeof noise)["measuredShape"]>>,
  Proof<Accepts<Answers["SimulatedList"], (typeof noise)["simulatedShape"]>>,
  Proof<Accepts<Answers["AlertList"], Shapes["alertsShape"]>>,
  Proof<Accepts<Answers["AlertDetail"], Shapes["alertDetailShape"]>>,
  Proof<Accepts<Answers["RuleList"], Shapes["rulesShape"]>>,
  Proof<Accepts<Answers["SilenceList"], Shapes["silencesShape"]>>,
];
