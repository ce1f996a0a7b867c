/** A picture with its table behind it, and both as files. */
import { useRef, useState, type ReactNode } from "react";
import { captureEntries } from "../lib/capture";
import { type Column, DataTable } from "./DataTable";
import { Icon } from "./Icon";
import { Menu, Segmented } from "./choices";
import { type Source, tableEntries } from "./TableExport";

interface Props<R> {
  title: string;
  note?: ReactNode;
  /** Of the files. */
  name: string;
  rows: R[];
  columns: Column<R>[];
  source: Source;
  id: (row: R) => string;
  className?: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function PictureCard<R>({
  title,
  note,
  name,
  rows,
  columns,
  source,
  id,
  className = "",
  actions,
  children,
}: Props<R>) {
  const box = useRef<HTMLElement>(null);
  const [shown, setShown] = useState<"picture" | "table">("picture");
  const body = () => box.current?.querySelector<HTMLElement>(".picture-body") ?? null;
  const pictures = captureEntries(body, name, () => ({ title, subtitle: typeof note === "string" ? note : "" }));
  return (
    <section ref={box} className={`card picture-card ${className}`} aria-label={title}>
      <div className="card-head">
        <div className="card-title">
          <h2>{title}</h2>
          {note && (
            <span className="subtitle" title={typeof note === "string" ? note : undefined}>
              {note}
            </span>
          )}
        </div>
        {actions}
        <Segmented
          label={`${title} as`}
          value={shown}
          options={[
            { value: "picture", label: "Picture" },
            { value: "table", label: "Table" },
          ]}
          onChange={setShown}
        />
        <Menu
          trigger={
            <>
              Export
              <Icon name="down" />
            </>
          }
          entries={[
            ...tableEntries({ name, rows: () => rows, columns, source }),
            ...(shown === "picture" ? pictures : []),
          ]}
        />
      </div>
      {shown === "picture" ? (
        <div className="picture-body">{children}</div>
      ) : (
        <div className="picture-table">
          <DataTable label={title} rows={rows} columns={columns} id={id} />
        </div>
      )}
    </section>
  );
}
