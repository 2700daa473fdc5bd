import { type ReactNode, useEffect, useRef, useState } from "react";
import classes from "./table.module.css";

export interface Column {
  name: string;
  isNumeric?: boolean;
  /** Only for screen readers, as for a column of buttons. */
  isHeaderHidden?: boolean;
}

/** On narrow screens each row becomes a list; with `scrolls`, the table scrolls sideways instead. */
export function Table(props: {
  label: string;
  columns: readonly Column[];
  scrolls?: boolean;
  className?: string;
  footer?: ReactNode;
  children: ReactNode;
}) {
  const { label, columns, scrolls = false, className = "", footer, children } = props;
  const region = useRef<HTMLDivElement>(null);
  const isOverflowing = useIsOverflowing(region);
  return (
    // Focusable only while it scrolls, for keyboard users.
    <div
      className={classes.region}
      ref={region}
      {...(isOverflowing && { tabIndex: 0, role: "region", "aria-label": label })}
    >
      <table
        role="table"
        aria-label={label}
        className={`${classes.table} ${className}`}
        data-stacks={scrolls ? undefined : true}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isNumeric, isHeaderHidden }) => (
              <th key={name} role="columnheader" scope="col" data-numeric={isNumeric}>
                {isHeaderHidden ? <span className="visually-hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
        {footer !== undefined && <tfoot role="rowgroup">{footer}</tfoot>}
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

/** `label` is the column name, shown beside the value on narrow screens. */
export function Cell(props: { label?: string; isNumeric?: boolean; className?: string; children?: ReactNode }) {
  const { label, isNumeric, className, children } = props;
  return (
    <td role="cell" data-numeric={isNumeric} className={className}>
      {label !== undefined && (
        <span className={classes.label} aria-hidden="true">
          {label}
        </span>
      )}
      <div className={classes.value}>{children}</div>
    </td>
  );
}

/** On narrow screens the actions are beside the row's name, or below the row with `isWide`. */
export function ActionsCell({ children, isWide }: { children: ReactNode; isWide?: boolean }) {
  return (
    <td role="cell" className={classes.actions} data-wide={isWide}>
      {children}
    </td>
  );
}

export function RowHeader({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <th role="rowheader" scope="row" className={className}>
      <div className={classes.value}>{children}</div>
    </th>
  );
}

function useIsOverflowing(region: { current: HTMLElement | null }): boolean {
  const [isOverflowing, setIsOverflowing] = useState(false);
  useEffect(() => {
    const element = region.current;
    if (!element) return undefined;
    const measure = (): void => setIsOverflowing(element.scrollWidth > element.clientWidth + 1);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, [region]);
  return isOverflowing;
}
