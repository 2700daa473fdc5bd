import { Page } from "../../parts/page.tsx";

export function Overview() {
  return <Page title="Overview">Soon.</Page>;
}
