import { Sheet } from "../../frame/sheet.tsx";

/** Where a second sign-in ends: the page that asked for it is in another tab, and has gone on. */
export function Confirmed() {
  return <Sheet title="Confirmed" about="You can close this tab. The page that asked goes on by itself." />;
}
