import * as Radix from "@radix-ui/react-dialog";
import { type ReactNode, useState } from "react";

interface Props {
  open: boolean;
  title: string;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ open, title, onClose, children }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="dialog-veil" />
        <Panel title={title}>{children}</Panel>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What had the focus before; for an entry of a menu, which goes with the menu, the menu's button. */
function openerNow(): Element | null {
  const button = document.activeElement?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  return button ? document.getElementById(button) : document.activeElement;
}

/** When it closes, the focus goes back to what opened it: a dialog without a trigger of Radix leaves it nowhere. */
function Panel({ title, children }: Pick<Props, "title" | "children">) {
  const [opener] = useState(openerNow);
  return (
    <Radix.Content
      className="dialog"
      aria-describedby={undefined}
      onCloseAutoFocus={() => opener instanceof HTMLElement && opener.focus()}
    >
      <Radix.Title asChild>
        <h2>{title}</h2>
      </Radix.Title>
      {children}
    </Radix.Content>
  );
}

interface EndProps {
  error: Error | null;
  onClose: () => void;
  children: ReactNode;
}

/** The end of a dialog's form: why it was refused, a way out, and the button that `children` is. */
export function DialogEnd({ error, onClose, children }: EndProps) {
  return (
    <>
      {error && (
        <p className="alarm" role="alert">
          {error.message}
        </p>
      )}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        {children}
      </div>
    </>
  );
}
