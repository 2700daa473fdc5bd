import classes from "./code-block.module.css";
import { CopyButton } from "./copy-button.tsx";

export function CodeBlock({ text, label, isWrapped = false }: { text: string; label: string; isWrapped?: boolean }) {
  return (
    <div className={classes.block}>
      {/* Scrollable, so it must be focusable. */}
      <pre className={classes.text} data-wrapped={isWrapped || undefined} tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy" className={classes.copy} aria-label={`Copy ${label}`} />
    </div>
  );
}
