import { Page } from "../../parts/page.tsx";

export function TopUp() {
  return <Page title="TopUp">Soon.</Page>;
}
