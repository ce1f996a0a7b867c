import { Dialog } from "../components/Dialog";
import { keySections } from "../lib/keys";
import { useStore } from "../lib/store";

const NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  Enter: "↵",
};

export default function HelpDialog({ onClose }: { onClose: () => void }) {
  // What holds on every page comes first, whichever page registered its keys before.
  const everywhere = (one: { title: string }) => Number(one.title === "Everywhere");
  const sections = [...useStore(keySections).values()].sort((a, b) => everywhere(b) - everywhere(a));
  return (
    <Dialog open title="Keys" onClose={onClose}>
      <div className="keys">
        {sections.map((section) => (
          <section key={section.title}>
            <h3 className="menu-label">{section.title}</h3>
            <dl>
              {section.bindings
                .filter((binding) => !binding.silent)
                .map((binding) => (
                  <div key={binding.keys}>
                    <dt>
                      {binding.keys.split(" ").map((key) => (
                        <kbd key={key}>{NAMES[key] ?? key}</kbd>
                      ))}
                    </dt>
                    <dd>{binding.label}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
        <p className="muted">
          On the time axis, drag to select a window, and Shift-drag to select the window to compare with. Double-click a
          router to zoom in, and press Esc to go back.
        </p>
      </div>
    </Dialog>
  );
}
