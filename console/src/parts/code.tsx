import classes from "./code.module.css";
import { CopyButton } from "./copy-button.tsx";

/** Code to take away. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className={classes.block}>
      {/* It scrolls sideways, so the keyboard has to reach it. */}
      <pre className={classes.text} tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy" className={classes.copy} aria-label={`Copy ${label}`} />
    </div>
  );
}
