import classes from "./code.module.css";
import { CopyButton } from "./copy-button.tsx";

/** Code to take away. Lines that are prose rather than code wrap. */
export function Code({ text, label, isWrapped = false }: { text: string; label: string; isWrapped?: boolean }) {
  return (
    <div className={classes.block}>
      {/* It scrolls sideways, so the keyboard has to reach it. */}
      <pre className={classes.text} data-wrapped={isWrapped || undefined} tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy" className={classes.copy} aria-label={`Copy ${label}`} />
    </div>
  );
}
