/** Who sends over the links of the selected router, with shares; "Show senders" lays these jobs over the machine. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Moment } from "../../api/queries";
import { Unanswered } from "../../components/Notice";
import { percent } from "../../lib/format";
import { sendersOf, sendersQuery, sendersText } from "../../machine/senders";
import { capital } from "../../machine/words";

const SHOWN = 3;

export function SendersBlock({
  fabric,
  router,
  moment,
  at,
}: {
  fabric: number;
  router: number;
  moment: Moment;
  at: string | undefined;
}) {
  const answer = useQuery(sendersQuery(fabric, moment, { router }));
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const links = answer.data?.items ?? [];
  const senders = sendersOf(links)?.slice(0, SHOWN);
  const show = () =>
    void navigate({
      to: ".",
      search: (old) => ({ ...old, router, job: senders?.map((one) => one.job_id).join(",") }),
    });
  return (
    <div className="router-block senders">
      <div className="card-line">
        <h3 className="block-title">Jobs that use its links</h3>
        {senders && senders.length > 0 && (
          <button className="link strong" onClick={show} title="Outline these jobs on the machine">
            Show senders
          </button>
        )}
      </div>
      {senders?.map((one) => (
        <div className="card-line" key={one.job_id}>
          <Link to="/jobs/$job" params={{ job: one.job_id }} search={{ at }} className="ellipsis">
            {one.job_id} {one.name ?? ""}
          </Link>
          <span className="numeric">{percent(one.share)}</span>
        </div>
      ))}
      {!answer.data ? (
        <Unanswered line what="who sends" asked={[answer]} />
      ) : (
        !senders?.length && (
          <p className="muted">{capital(sendersText(links)) || "No traffic between routers in this window."}</p>
        )
      )}
    </div>
  );
}
