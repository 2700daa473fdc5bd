import { useLocalStorage } from "@mantine/hooks";
import type { TimeZone } from "../format/format-time.ts";

/** The zone in which times are shown, saved in the browser. Exports are always in UTC. */
export function useTimeZone(): { zone: TimeZone; setZone: (zone: TimeZone) => void } {
  const [zone, setZone] = useLocalStorage<TimeZone>({
    key: "pennyblack.time-zone",
    defaultValue: "local",
    getInitialValueInEffect: false,
  });
  return { zone: zone === "utc" ? "utc" : "local", setZone };
}
