import { Anchor } from "@mantine/core";

/** Links to the text of a lens, given as `name@version`. */
export function LensLink({ lens }: { lens: string }) {
  const [name = "base"] = lens.split("@");
  return (
    <Anchor href={`/v1/lenses/${encodeURIComponent(name)}`} target="_blank" className="mono">
      {lens}
    </Anchor>
  );
}
