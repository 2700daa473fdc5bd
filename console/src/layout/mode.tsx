import { useLocalStorage } from "@mantine/hooks";
import { createContext, type ReactNode, useContext } from "react";
import type { Mode } from "../api/wallet.ts";

const name = "pennyblack.mode";

const ModeContext = createContext<{ mode: Mode; setMode: (mode: Mode) => void } | undefined>(undefined);

/** Live or test: chosen at the top of every page, and kept by the browser. */
export function ModeProvider({ children }: { children: ReactNode }) {
  const [mode, setMode] = useLocalStorage<Mode>({
    key: name,
    defaultValue: "live",
    getInitialValueInEffect: false,
  });
  return <ModeContext value={{ mode: mode === "test" ? "test" : "live", setMode }}>{children}</ModeContext>;
}

/** For whoever leads into the frame from outside of it. */
export function rememberMode(mode: Mode): void {
  localStorage.setItem(name, JSON.stringify(mode));
}

export function useMode() {
  const found = useContext(ModeContext);
  if (!found) throw new Error("a page stands in the frame");
  return found;
}
