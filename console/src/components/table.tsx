import { type ReactNode, useEffect, useRef, useState } from "react";
import classes from "./table.module.css";

export interface Column {
  name: string;
  /** Figures stand under figures. */
  isFigures?: boolean;
  /** Said to readers only: a column of buttons needs no heading to the eye. */
  isQuiet?: boolean;
}

/** A table with hairlines. On a phone its rows become lists, or with `scrolls` it moves inside its own region. */
export function Table(props: {
  label: string;
  columns: readonly Column[];
  scrolls?: boolean;
  className?: string;
  foot?: ReactNode;
  children: ReactNode;
}) {
  const { label, columns, scrolls = false, className = "", foot, children } = props;
  const region = useRef<HTMLDivElement>(null);
  const isWide = useIsWide(region);
  return (
    // Whoever has no mouse has to reach what scrolls, and need not stop at what does not.
    <div className={classes.region} ref={region} {...(isWide && { tabIndex: 0, role: "region", "aria-label": label })}>
      <table
        role="table"
        aria-label={label}
        className={`${classes.table} ${className}`}
        data-stacks={scrolls ? undefined : true}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isFigures, isQuiet }) => (
              <th key={name} role="columnheader" scope="col" data-figures={isFigures}>
                {isQuiet ? <span className="hidden-from-eyes">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
        {foot !== undefined && <tfoot role="rowgroup">{foot}</tfoot>}
      </table>
    </div>
  );
}

export function Row({ children, ...rest }: { children: ReactNode; "data-muted"?: boolean }) {
  return (
    <tr role="row" {...rest}>
      {children}
    </tr>
  );
}

/** `label` is the column's name, shown beside the value where there are no columns. */
export function Cell(props: { label?: string; isFigures?: boolean; className?: string; children?: ReactNode }) {
  const { label, isFigures, className, children } = props;
  return (
    <td role="cell" data-figures={isFigures} className={className}>
      {label !== undefined && (
        <span className={classes.label} aria-hidden="true">
          {label}
        </span>
      )}
      <div className={classes.value}>{children}</div>
    </td>
  );
}

/** Buttons for the row. */
export function ActCell({ children }: { children: ReactNode }) {
  return (
    <td role="cell" className={classes.act}>
      {children}
    </td>
  );
}

/** What the row is about. */
export function HeadCell({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <th role="rowheader" scope="row" className={className}>
      <div className={classes.value}>{children}</div>
    </th>
  );
}

function useIsWide(region: { current: HTMLElement | null }): boolean {
  const [isWide, setIsWide] = useState(false);
  useEffect(() => {
    const element = region.current;
    if (!element) return undefined;
    const look = (): void => setIsWide(element.scrollWidth > element.clientWidth + 1);
    const observer = new ResizeObserver(look);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, [region]);
  return isWide;
}
