import { Page } from "../../parts/page.tsx";

export function Ledger() {
  return <Page title="Ledger">Soon.</Page>;
}
