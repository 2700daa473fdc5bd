import { Menu } from "@mantine/core";
import { useTimeZone } from "../components/use-time-zone.ts";
import { formatZone } from "../format/format-time.ts";

/** Switches all times between the browser's zone and UTC. */
export function TimeZoneItem() {
  const { zone, setZone } = useTimeZone();
  return (
    <Menu.Item closeMenuOnClick={false} onClick={() => setZone(zone === "utc" ? "local" : "utc")}>
      Times: {zone === "utc" ? "UTC" : `local (${formatZone(zone, new Date())})`}
    </Menu.Item>
  );
}
