interface Props {
  value: string;
  label: string;
  bad?: boolean;
  /** Still asked for: its place is kept, so that the verdict does not wrap when it comes. */
  pending?: boolean;
}

/** A figure of a verdict with what it is below it. */
export const Figure = ({ value, label, bad = false, pending = false }: Props) => (
  <div className={pending ? "pending" : undefined} aria-hidden={pending || undefined}>
    <div className={`figure-value${bad ? " alarm" : ""}`}>{value}</div>
    <div className="subtitle">{label}</div>
  </div>
);
