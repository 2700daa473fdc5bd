import { CenteredPage } from "../../layout/centered-page.tsx";

/** Shown after reauthentication. The original page is open in another tab. */
export function Confirmed() {
  return (
    <CenteredPage title="Confirmed" description="You can close this tab. The other page continues automatically." />
  );
}
